import { useState } from "preact/hooks";
import { api } from "../api";
import { date, number, t } from "../i18n";
import type { Scope } from "../state";
import type { Hit } from "../types";
import { Badge, Bar, Card, Empty, Failure, Loading } from "../ui/basics";
import { Quote } from "../ui/quote";

export function RecallBox({ scope, open }: { scope: Scope; open: (note: string) => void }) {
  const [query, setQuery] = useState("");
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const ask = async () => {
    if (!query.trim()) return;
    setBusy(true);
    setError(null);
    try {
      setHits((await api.recall(scope, query)).hits);
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <form class="ask" role="search" onSubmit={(event) => { event.preventDefault(); void ask(); }}>
        <label class="hidden" for="query">{t("ask")}</label>
        <input id="query" value={query} placeholder={t("ask")} autofocus onInput={(event) => setQuery(event.currentTarget.value)} />
        <button type="submit" class="main">{t("search")}</button>
      </form>
      {busy && <Loading />}
      {error && <Failure error={error} again={() => void ask()} />}
      {!busy && hits?.length === 0 && <Empty text={t("noHits")} />}
      <ol class="hits">
        {hits?.map((hit, i) => <Found key={hit.id} hit={hit} place={i + 1} open={open} />)}
      </ol>
    </>
  );
}

function Found({ hit, place, open }: { hit: Hit; place: number; open: (note: string) => void }) {
  return (
    <li>
      <Card>
        <div class="hit-head">
          <span class="place">{place}</span>
          <Badge tone={hit.kind}>{t(hit.kind)}</Badge>
          {hit.note && <Badge>{hit.note.kind}</Badge>}
          <span class="muted">{date(hit.at)}</span>
          <span class="score" title={t("score")}>{number(hit.score, 2)}</span>
        </div>
        <p class="said">{hit.text}</p>
        <div class="hit-why">
          <div>
            <h3>{t("legs")}</h3>
            {hit.legs.map((leg) => (
              <Bar key={leg.name} value={leg.score} label={`${leg.name} · ${t("rank")} ${leg.rank}`} />
            ))}
          </div>
          <div>
            <h3>{t("path")}</h3>
            {hit.path.length === 0 ? (
              <p class="muted">{t("direct")}</p>
            ) : (
              <ol class="path">
                {hit.path.map((id) => (
                  <li key={id}>
                    <button type="button" class="link" onClick={() => open(id)}>{id}</button>
                  </li>
                ))}
              </ol>
            )}
            <details>
              <summary>{t("evidence")} ({hit.evidence.length})</summary>
              {hit.evidence.map((each) => (
                <Quote key={each.id} said={each} />
              ))}
            </details>
          </div>
        </div>
        {hit.note && (
          <button type="button" class="quiet" onClick={() => open(hit.note!.id)}>{t("note")} {hit.note.id}</button>
        )}
      </Card>
    </li>
  );
}
