import { useState } from "preact/hooks";
import { api } from "../api";
import { t } from "../i18n";
import { key } from "../state";

export function Login({ done }: { done: () => void }) {
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async () => {
    key.set(typed.trim());
    try {
      await api.whoami();
      done();
    } catch (error) {
      key.clear();
      setWrong(`${t("keyWrong")} ${(error as Error).message}`);
    }
  };
  return (
    <main class="login" id="main">
      <h1>memstrata</h1>
      <form onSubmit={(event) => { event.preventDefault(); void enter(); }}>
        <label for="key">{t("key")}</label>
        <input id="key" type="password" autocomplete="current-password" value={typed} aria-describedby="key-help" onInput={(event) => setTyped(event.currentTarget.value)} />
        <p id="key-help" class="muted">{t("keyHelp")}</p>
        {wrong && <p role="alert" class="failure">{wrong}</p>}
        <button type="submit" class="main" disabled={!typed.trim()}>{t("signIn")}</button>
      </form>
    </main>
  );
}
