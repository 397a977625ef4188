import { useState } from "preact/hooks";
import { api } from "../api";
import { number, t } from "../i18n";
import type { Scope } from "../state";
import { Card, Empty, Failure, Loading, Table } from "../ui/basics";
import { useData } from "../ui/data";

const GROUPS = ["stage", "model", "session", "user", "day"] as const;

export function CostTable({ scope }: { scope: Scope }) {
  const [by, setBy] = useState<string>("stage");
  const { value, error, again } = useData(() => api.cost(scope, by), [scope.user, scope.agent, by]);
  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Loading />;
  return (
    <Card
      actions={
        <label>
          {t("stage")}{" "}
          <select value={by} onChange={(event) => setBy(event.currentTarget.value)}>
            {GROUPS.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        </label>
      }
    >
      {value.lines.length === 0 ? (
        <Empty text={t("noCosts")} />
      ) : (
        <Table
          caption={t("costs")}
          head={[by, t("calls"), t("tokensIn"), t("tokensOut"), t("cached"), t("seconds"), t("money")]}
          rows={[...value.lines, value.total].map((line) => [
            line.group.join(" ") || "Σ",
            number(line.calls),
            number(line.input_tokens),
            number(line.output_tokens),
            number(line.cached_tokens),
            number(line.seconds, 1),
            line.money === null ? "–" : `$${number(line.money, 4)}`,
          ])}
        />
      )}
    </Card>
  );
}
