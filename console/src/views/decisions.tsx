import { useState } from "preact/hooks";
import { api } from "../api";
import { date, t } from "../i18n";
import type { Scope } from "../state";
import type { Decision } from "../types";
import { Badge, Card, Empty, Failure, Loading } from "../ui/basics";
import { usePages } from "../ui/data";
import { Signals } from "./signals";

const CLOSE = "close"; // not an outcome: those nearest to the threshold, where a word of a person teaches the gate most
const OUTCOMES = ["admitted", "admitted_superseding", "superseded_on_arrival", "duplicate", "rejected", "deferred"];
const SHOWN = 30;

/** The gate's decisions with their five signals, and what a person says of them. */
export function Decisions({ scope, open }: { scope: Scope; open: (note: string) => void }) {
  const [which, setWhich] = useState(CLOSE);
  const list = usePages(
    async (cursor) => {
      if (which === CLOSE) return { items: (await api.review(scope, SHOWN)).map(unjudged), cursor: null };
      const page = await api.decisions(scope, which, cursor);
      return { items: page.decisions.map((each) => ({ decision: each, said: page.judged[each.id] ?? null })), cursor: page.cursor };
    },
    [scope.user, scope.agent, which],
  );
  return (
    <>
      <p class="filters">
        <label>
          {t("outcome")}{" "}
          <select value={which} onChange={(event) => setWhich(event.currentTarget.value)}>
            <option value={CLOSE}>{t("close_decisions")}</option>
            <option value="">{t("all")}</option>
            {OUTCOMES.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        </label>
      </p>
      {list.error && <Failure error={list.error} again={list.again} />}
      {list.loading && <Loading />}
      {!list.loading && !list.error && list.items.length === 0 && <Empty />}
      {list.items.map((each) => <Judged key={each.decision.id} scope={scope} {...each} open={open} />)}
      {list.more && <button type="button" onClick={list.more}>{t("more")}</button>}
    </>
  );
}

interface Line {
  decision: Decision;
  said: boolean | null;
}

function unjudged(decision: Decision): Line {
  return { decision, said: null };
}

function Judged({ scope, decision, said: before, open }: Line & { scope: Scope; open: (note: string) => void }) {
  const [said, setSaid] = useState(before);
  const [error, setError] = useState<Error | null>(null);
  const judge = async (accept: boolean) => {
    try {
      await api.feedback(scope, decision.id, accept);
      setSaid(accept);
      setError(null);
    } catch (failure) {
      setError(failure as Error);
    }
  };
  const name = decision.candidate.text.slice(0, 60);
  return (
    <Card>
      <div class="hit-head">
        <Badge tone={decision.outcome.startsWith("admitted") ? "current" : "forgotten"}>{decision.outcome}</Badge>
        <Badge tone={`kind-${decision.candidate.kind}`}>{decision.candidate.kind}</Badge>
        <span class="muted">{date(decision.decided_at, true)}</span>
      </div>
      <p class="said">
        {decision.candidate.speaker && <b>{decision.candidate.speaker}: </b>}
        {decision.candidate.text}
      </p>
      <p>{decision.reason}</p>
      <Signals decision={decision} />
      {error && <Failure error={error} />}
      <div class="actions">
        {said === null ? (
          <>
            <button type="button" aria-label={`${t("accept")}: ${name}`} onClick={() => void judge(true)}>{t("accept")}</button>
            <button type="button" aria-label={`${t("reject")}: ${name}`} onClick={() => void judge(false)}>{t("reject")}</button>
          </>
        ) : (
          <p role="status">{said ? t("accept") : t("reject")}. {t("judged")}</p>
        )}
        {decision.note && (
          <button type="button" class="quiet" aria-label={`${t("note")}: ${name}`} onClick={() => open(decision.note!)}>{t("note")}</button>
        )}
      </div>
    </Card>
  );
}
