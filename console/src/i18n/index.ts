/** The console's words in three languages, and dates and numbers as the reader writes them. */
import { en, type Words } from "./en";
import { ja } from "./ja";
import { zh } from "./zh";

export const LANGUAGES = { en: "English", ja: "日本語", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;
const WORDS: Record<Language, Words> = { en, ja, zh };

let language: Language = "en";

export function useLanguage(next: Language): void {
  language = next;
  document.documentElement.lang = next === "zh" ? "zh-Hans" : next;
}

export function preferred(): Language {
  const wanted = navigator.languages.map((each) => each.slice(0, 2));
  return (wanted.find((each) => each in WORDS) as Language | undefined) ?? "en";
}

export function t(key: keyof Words): string {
  return WORDS[language][key];
}

export function date(value: string | null | undefined, precise = false): string {
  if (!value) return "–";
  const style = precise ? ({ dateStyle: "medium", timeStyle: "short" } as const) : ({ dateStyle: "medium" } as const);
  return new Intl.DateTimeFormat(language, style).format(new Date(value));
}

export function number(value: number, digits = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
}
