import { api } from "../api";
import { date, number, t } from "../i18n";
import { go, type Scope } from "../state";
import { Badge, Card, Empty, Failure, Loading, Table } from "../ui/basics";
import { useData, usePages } from "../ui/data";

export function Sessions({ scope, session }: { scope: Scope; session: string | null }) {
  return session !== null ? <Turns scope={scope} session={session} /> : <All scope={scope} />;
}

function All({ scope }: { scope: Scope }) {
  const list = usePages(async (cursor) => {
    const page = await api.sessions(scope, cursor);
    return { items: page.sessions, cursor: page.cursor };
  }, [scope.user, scope.agent]);
  if (list.error) return <Failure error={list.error} again={list.again} />;
  if (list.loading) return <Loading />;
  return (
    <Card>
      <Table
        caption={t("sessions")}
        head={[t("sessions"), t("turns"), t("hot"), t("time")]}
        rows={list.items.map((each) => [
          <button type="button" class="link" onClick={() => go("sessions", each.session)}>{each.session || t("unnamed")}</button>,
          number(each.turns),
          number(each.hot),
          `${date(each.started_at, true)} – ${date(each.last_at, true)}`,
        ])}
      />
      {list.more && <button type="button" onClick={list.more}>{t("more")}</button>}
    </Card>
  );
}

const TIERS = { hot: "hot", page: "warm", transcript: "cold" } as const;

/** The turns as they were said, with the tier each is found in, and a line where a page begins. */
function Turns({ scope, session }: { scope: Scope; session: string }) {
  const list = usePages(async (cursor) => {
    const page = await api.turns(scope, session, cursor);
    return { items: page.turns, cursor: page.cursor };
  }, [scope.user, scope.agent, session]);
  const pages = useData(() => api.pages(scope, session, null), [scope.user, scope.agent, session]);
  if (list.error) return <Failure error={list.error} again={list.again} />;
  if (list.loading) return <Loading />;
  const summaries = new Map(pages.value?.pages.map((each) => [each.no, each]));
  return (
    <Card title={session || t("unnamed")} actions={<button type="button" class="quiet" onClick={() => go("sessions")}>← {t("sessions")}</button>}>
      {list.items.length === 0 && <Empty />}
      <ol class="turns">
        {list.items.map((turn, i) => {
          const starts = turn.page !== null && turn.page !== list.items[i - 1]?.page;
          const page = starts && turn.page !== null ? summaries.get(turn.page) : undefined;
          return (
            <>
              {page && (
                <li class="page-head" key={`page${page.id}`}>
                  <Badge tone={page.state}>{t("page")} {page.no}</Badge> {page.state === "warm" && <span>{t("heat")} {number(page.heat, 2)}</span>}
                  <p class="muted">{page.summary}</p>
                </li>
              )}
              <li key={turn.id} class={`turn turn-${turn.role}`}>
                <div class="hit-head">
                  <b>{turn.speaker ?? turn.role}</b>
                  <Badge tone={TIERS[turn.tier]}>{t(TIERS[turn.tier])}</Badge>
                  {turn.trust !== turn.role && <Badge>{turn.trust}</Badge>}
                  <span class="muted">#{turn.position} · {date(turn.at, true)}</span>
                </div>
                <p class="said">{turn.text}</p>
              </li>
            </>
          );
        })}
      </ol>
      {list.more && <button type="button" onClick={list.more}>{t("more")}</button>}
    </Card>
  );
}
