import { api } from "../api";
import { number, t } from "../i18n";
import type { Scope } from "../state";
import { Card, Failure, Loading } from "../ui/basics";
import { useData } from "../ui/data";

export function Overview({ scope }: { scope: Scope }) {
  const { value, error, again } = useData(() => api.stats(scope), [scope.user, scope.agent]);
  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Loading />;
  const figures: [string, number][] = [
    [t("turns"), value.turns],
    [t("sessions"), value.sessions],
    [t("pages"), value.pages],
    [t("notes"), value.notes],
    [t("links"), value.links],
  ];
  return (
    <>
      {value.advice.length > 0 && (
        <Card title={t("advice")}>
          <ul>
            {value.advice.map((each) => (
              <li>{each}</li>
            ))}
          </ul>
        </Card>
      )}
      <div class="figures">
        {figures.map(([name, count]) => (
          <div class="figure">
            <strong>{number(count)}</strong>
            <span>{name}</span>
          </div>
        ))}
      </div>
      <div class="columns">
        <Shares title={t("tier")} counts={{
          [t("hot")]: value.tiers.hot_turns,
          [`${t("page")} (warm)`]: value.tiers.warm_pages,
          [`${t("page")} (distilled)`]: value.tiers.distilled_pages,
        }} />
        <Shares title={t("kinds")} counts={value.notes_by_kind} />
        <Shares title={t("decisions")} counts={value.decisions} />
        <Shares title={t("state")} counts={value.notes_by_state} />
      </div>
    </>
  );
}

function Shares({ title, counts }: { title: string; counts: Record<string, number> }) {
  const most = Math.max(1, ...Object.values(counts));
  return (
    <Card title={title}>
      {Object.entries(counts).map(([name, count]) => (
        <div class="bar" key={name}>
          <span class="bar-label">{name}</span>
          <span class="bar-track">
            <span class="bar-fill" style={{ width: `${(100 * count) / most}%` }} />
          </span>
          <span class="bar-value">{number(count)}</span>
        </div>
      ))}
    </Card>
  );
}

