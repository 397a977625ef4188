import { useEffect, useState } from "preact/hooks";
import { t, useLanguage, LANGUAGES, type Language } from "./i18n";
import { go, key, place, section, sections, stored, type Scope, type Section, type Theme } from "./state";
import { api, onDenied } from "./api";
import { useData } from "./ui/data";
import { CostTable } from "./views/costs";
import { Decisions } from "./views/decisions";
import { Erase } from "./views/erase";
import { Jobs } from "./views/jobs";
import { Login } from "./views/login";
import { NoteDrawer } from "./views/note";
import { Notes } from "./views/notes";
import { Overview } from "./views/overview";
import { Pages } from "./views/pages";
import { RecallBox } from "./views/recall";
import { Sessions } from "./views/sessions";

export function App() {
  const [signedIn, setSignedIn] = useState(key.get() !== "");
  const [language, setLanguage] = useState<Language>(stored.language());
  const [theme, setTheme] = useState<Theme>(stored.theme());
  const [scope, setScope] = useState<Scope>(stored.scope());
  const [here, setHere] = useState<Section>(section());
  const [rest, setRest] = useState(place());
  const [note, setNote] = useState<string | null>(null);
  useLanguage(language);

  useEffect(() => {
    const moved = () => {
      setHere(section());
      setRest(place());
    };
    addEventListener("hashchange", moved);
    onDenied(() => {
      key.clear();
      setSignedIn(false);
    });
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    stored.keepTheme(theme);
  }, [theme]);
  useEffect(() => {
    document.title = `${t(here)} · ${t("title")}`;
    stored.keepLanguage(language);
  }, [here, language]);

  if (!signedIn) return <Login done={() => setSignedIn(true)} />;
  const leave = () => {
    key.clear();
    setSignedIn(false);
  };
  const named = scope.user !== "" || scope.agent !== "";
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        {t("skip")}
      </a>
      <Top scope={scope} setScope={setScope} language={language} setLanguage={setLanguage} theme={theme} setTheme={setTheme} leave={leave} />
      <nav aria-label={t("nav")}>
        {sections.map((name) => (
          <a key={name} href={`#/${name}`} aria-current={name === here ? "page" : undefined}>{t(name)}</a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        <h1>{t(here)}</h1>
        {named || here === "jobs" ? (
          <View here={here} rest={rest} scope={scope} open={setNote} />
        ) : (
          <p class="empty">{t("needUser")}</p>
        )}
      </main>
      {note !== null && <NoteDrawer key={note} scope={scope} id={note} open={setNote} onClose={() => setNote(null)} />}
    </div>
  );
}

function View({ here, rest, scope, open }: { here: Section; rest: string | null; scope: Scope; open: (note: string) => void }) {
  switch (here) {
    case "overview": return <Overview scope={scope} />;
    case "recall": return <RecallBox scope={scope} open={open} />;
    case "notes": return <Notes scope={scope} open={open} />;
    case "sessions": return <Sessions scope={scope} session={rest} />;
    case "pages": return <Pages scope={scope} />;
    case "decisions": return <Decisions scope={scope} open={open} />;
    case "costs": return <CostTable scope={scope} />;
    case "jobs": return <Jobs scope={scope} />;
    case "erase": return <Erase scope={scope} />;
  }
}

interface TopProps {
  scope: Scope;
  setScope: (scope: Scope) => void;
  language: Language;
  setLanguage: (language: Language) => void;
  theme: Theme;
  setTheme: (theme: Theme) => void;
  leave: () => void;
}

function Top({ scope, setScope, language, setLanguage, theme, setTheme, leave }: TopProps) {
  const [typed, setTyped] = useState(scope);
  const known = useData(() => api.owners(), []).value?.owners ?? [];
  const take = () => {
    stored.keepScope(typed);
    setScope(typed);
  };
  return (
    <header class="top">
      <a class="brand" href="#/overview" onClick={() => go("overview")}>memstrata</a>
      <form class="scope" onSubmit={(event) => { event.preventDefault(); take(); }}>
        <label>{t("user")} <input list="users" value={typed.user} onInput={(event) => setTyped({ ...typed, user: event.currentTarget.value })} onBlur={take} /></label>
        <label>{t("agent")} <input list="agents" value={typed.agent} onInput={(event) => setTyped({ ...typed, agent: event.currentTarget.value })} onBlur={take} /></label>
        <datalist id="users">{known.map((each) => each.user !== null && <option key={each.user} value={each.user} />)}</datalist>
        <datalist id="agents">{known.map((each) => each.agent !== null && <option key={each.agent} value={each.agent} />)}</datalist>
        <button type="submit" class="hidden">{t("search")}</button>
      </form>
      <div class="options">
        <label><span class="hidden">{t("language")}</span>
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
            {Object.entries(LANGUAGES).map(([name, label]) => <option key={name} value={name} lang={name}>{label}</option>)}
          </select>
        </label>
        <label><span class="hidden">{t("theme")}</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            {(["system", "light", "dark"] as const).map((name) => <option key={name} value={name}>{t(name)}</option>)}
          </select>
        </label>
        <button type="button" class="quiet" onClick={leave}>{t("signOut")}</button>
      </div>
    </header>
  );
}
