/** Who is asking, about whom, and how it is shown. The key stays in this tab; the rest is remembered. */
import { preferred, type Language } from "./i18n";

export interface Scope {
  user: string;
  agent: string;
}

export type Theme = "system" | "light" | "dark";

export const sections = [
  "overview", "recall", "notes", "sessions", "pages", "decisions", "costs", "jobs", "erase",
] as const;
export type Section = (typeof sections)[number];

const read = (name: string, fallback: string) => localStorage.getItem(`memstrata.${name}`) ?? fallback;
const write = (name: string, value: string) => localStorage.setItem(`memstrata.${name}`, value);

export const key = {
  get: () => sessionStorage.getItem("memstrata.key") ?? "",
  set: (value: string) => sessionStorage.setItem("memstrata.key", value),
  clear: () => sessionStorage.removeItem("memstrata.key"),
};

export const stored = {
  scope: (): Scope => ({ user: read("user", ""), agent: read("agent", "") }),
  language: (): Language => read("language", preferred()) as Language,
  theme: (): Theme => read("theme", "system") as Theme,
  keepScope: (scope: Scope) => {
    write("user", scope.user);
    write("agent", scope.agent);
  },
  keepLanguage: (language: Language) => write("language", language),
  keepTheme: (theme: Theme) => write("theme", theme),
};

export function section(): Section {
  const name = location.hash.replace(/^#\/?/, "").split("/")[0] ?? "";
  return (sections as readonly string[]).includes(name) ? (name as Section) : "overview";
}

/** What stands after the section in the address, the name of a session, which may be empty; null where nothing does. */
export function place(): string | null {
  const [, rest] = location.hash.replace(/^#\/?/, "").split("/");
  return rest === undefined ? null : decodeURIComponent(rest);
}

export function go(name: Section, rest: string | null = null): void {
  location.hash = rest === null ? `/${name}` : `/${name}/${encodeURIComponent(rest)}`;
}
