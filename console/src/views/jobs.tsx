import { useEffect, useState } from "preact/hooks";
import { api, type Waiting } from "../api";
import { date, number, t } from "../i18n";
import type { Scope } from "../state";
import { Badge, Card, Failure, Loading, Table } from "../ui/basics";
import { useData } from "../ui/data";

export function Jobs({ scope }: { scope: Scope }) {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const { value, error, again } = useData(() => api.jobs(scope), [scope.user, scope.agent, waiting]);
  useEffect(() => {
    const ending = new AbortController();
    setWaiting(null);
    api.watchJobs(scope, ending.signal, setWaiting).catch(() => undefined); // the table says what is wrong
    return () => ending.abort();
  }, [scope.user, scope.agent]);
  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Loading />;
  const failed = waiting?.failed ?? value.filter((each) => each.state === "failed").length;
  const queued = waiting?.queued ?? value.length - failed;
  const retry = () => void api.retryFailed().then(again);
  return (
    <Card
      title={`${t("queued")} ${number(queued)} · ${t("failed")} ${number(failed)}`}
      actions={failed > 0 && <button type="button" onClick={retry}>{t("retryFailed")}</button>}
    >
      <Table
        caption={t("jobs")}
        head={[t("kind"), t("state"), t("time"), t("reason")]}
        rows={value.map((each) => [
          each.kind,
          <Badge tone={each.state === "failed" ? "forgotten" : "current"}>{each.state}</Badge>,
          date(each.run_after, true),
          each.error ?? "",
        ])}
      />
    </Card>
  );
}
