import { useState } from "preact/hooks";
import { api } from "../api";
import { number, t } from "../i18n";
import type { Scope } from "../state";
import { Card, Dialog, Failure, Table } from "../ui/basics";

interface Receipt {
  counts: Record<string, number>;
  complete: boolean;
}

/** Erasing a subject: its name is typed before, the receipt stands after. */
export function Erase({ scope }: { scope: Scope }) {
  const [asking, setAsking] = useState(false);
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const subject = scope.user || scope.agent;
  const erase = async () => {
    try {
      setReceipt(await api.erase(scope));
      setError(null);
      setAsking(false);
    } catch (failure) {
      setError(failure as Error);
    }
  };
  return (
    <>
      <Card title={`${t("eraseTitle")} ${subject}`}>
        <p>{t("eraseHelp")}</p>
        <button type="button" class="danger" onClick={() => setAsking(true)}>{t("erase")} …</button>
      </Card>
      {asking && (
        <Dialog title={`${t("eraseTitle")} ${subject}`} onClose={() => setAsking(false)}>
          <p>{t("eraseHelp")}</p>
          {error && <Failure error={error} />}
          <form onSubmit={(event) => { event.preventDefault(); void erase(); }}>
            <label for="confirm">{t("eraseType")}: <b>{subject}</b></label>
            <input id="confirm" value={typed} autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />
            <div class="actions">
              <button type="submit" class="danger" disabled={typed !== subject}>{t("eraseDo")}</button>
            </div>
          </form>
        </Dialog>
      )}
      {receipt && (
        <Card title={`${t("receipt")}: ${t("eraseDone")}`}>
          {!receipt.complete && <p role="alert">{t("eraseIncomplete")}</p>}
          <Table
            caption={t("receipt")}
            head={[t("kind"), t("count")]}
            rows={Object.entries(receipt.counts).map(([name, count]) => [name, number(count)])}
          />
        </Card>
      )}
    </>
  );
}
