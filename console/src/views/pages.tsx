import { api } from "../api";
import { date, number, t } from "../i18n";
import { go, type Scope } from "../state";
import { Badge, Card, Empty, Failure, Loading } from "../ui/basics";
import { Line } from "../ui/charts";
import { useData, usePages } from "../ui/data";

/** The pages, newest first, each with its heat over time as the log tells it. */
export function Pages({ scope }: { scope: Scope }) {
  const list = usePages(async (cursor) => {
    const page = await api.pages(scope, null, cursor);
    return { items: page.pages, cursor: page.cursor };
  }, [scope.user, scope.agent]);
  const heat = useData(() => api.heat(scope), [scope.user, scope.agent]);
  if (list.error) return <Failure error={list.error} again={list.again} />;
  if (list.loading) return <Loading />;
  if (list.items.length === 0) return <Empty />;
  const curves = new Map(heat.value?.map((each) => [each.page, each.points]));
  return (
    <>
    <div class="cards">
      {list.items.map((page) => (
        <Card key={page.id}>
          <div class="hit-head">
            <Badge tone={page.state}>{page.state}</Badge>
            {page.promoted && <Badge tone="pinned">{t("promoted")}</Badge>}
            <button type="button" class="link" onClick={() => go("sessions", page.session)}>{page.session || t("unnamed")}</button>
            <span class="muted">{date(page.started_at)}</span>
            {page.state === "warm" && <span class="score">{t("heat")} {number(page.heat, 2)}</span>}
          </div>
          <p>{page.summary}</p>
          {curves.has(page.id) && (
            <Line label={t("heatOverTime")} points={curves.get(page.id)!.map((each) => ({ at: each.tick, value: each.heat }))} />
          )}
          <p class="muted">{t("recalls")}: {number(page.recalls)}</p>
        </Card>
      ))}
    </div>
    {list.more && <button type="button" onClick={list.more}>{t("more")}</button>}
    </>
  );
}
