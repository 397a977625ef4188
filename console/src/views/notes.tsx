import { useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { Graph } from "../graph/graph";
import { date, number, t } from "../i18n";
import type { Scope } from "../state";
import { KINDS, type Kind } from "../types";
import { Badge, Card, Empty, Failure, Loading, Table } from "../ui/basics";
import { useData } from "../ui/data";

const DAY = 86_400_000;
const AGES = { anyAge: Infinity, lastWeek: 7, lastMonth: 30, lastYear: 365 } as const;
const ROWS = 200;

/** All notes of a scope with their links, as a graph or a list, by kind, tag, age and time. */
export function Notes({ scope, open }: { scope: Scope; open: (note: string) => void }) {
  const [old, setOld] = useState(false);
  const { value, error, again } = useData(() => api.graph(scope, old), [scope.user, scope.agent, old]);
  const [asList, setAsList] = useState(false);
  const [kind, setKind] = useState<Kind | "">("");
  const [tag, setTag] = useState("");
  const [age, setAge] = useState<keyof typeof AGES>("anyAge");
  const [moment, setMoment] = useState(1000); // thousandths of the time between the first note and the last
  const [rows, setRows] = useState(ROWS);

  const chosen = useMemo(() => {
    const since = Date.now() - AGES[age] * DAY;
    const notes = (value?.notes ?? []).filter(
      (note) =>
        (!kind || note.kind === kind) && (!tag || note.tags.includes(tag)) && Date.parse(note.recorded_at) >= since,
    );
    const ids = new Set(notes.map((note) => note.id));
    return { notes, links: (value?.links ?? []).filter((link) => ids.has(link.source) && ids.has(link.target)) };
  }, [value, kind, tag, age]);
  const tags = useMemo(() => {
    const counts = new Map<string, number>();
    for (const note of value?.notes ?? []) for (const each of note.tags) counts.set(each, (counts.get(each) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 100);
  }, [value]);
  const times = useMemo(() => chosen.notes.map((note) => Date.parse(note.recorded_at)), [chosen]);
  const first = Math.min(...times);
  const last = Math.max(...times);
  const until = moment >= 1000 ? Infinity : first + ((last - first) * moment) / 1000;

  if (error) return <Failure error={error} again={again} />;
  if (!value) return <Loading />;
  return (
    <Card>
      <div class="filters">
        <div role="group" aria-label={t("notes")} class="toggle">
          <button type="button" aria-pressed={!asList} onClick={() => setAsList(false)}>{t("asGraph")}</button>
          <button type="button" aria-pressed={asList} onClick={() => setAsList(true)}>{t("asList")}</button>
        </div>
        <label>{t("kind")}{" "}
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind | "")}>
            <option value="">{t("all")}</option>
            {KINDS.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        </label>
        <label>{t("tag")}{" "}
          <select value={tag} onChange={(event) => setTag(event.currentTarget.value)}>
            <option value="">{t("all")}</option>
            {tags.map(([name, count]) => <option key={name} value={name}>{name} ({count})</option>)}
          </select>
        </label>
        <label>{t("age")}{" "}
          <select value={age} onChange={(event) => setAge(event.currentTarget.value as keyof typeof AGES)}>
            {(Object.keys(AGES) as (keyof typeof AGES)[]).map((each) => <option key={each} value={each}>{t(each)}</option>)}
          </select>
        </label>
        <label><input type="checkbox" checked={old} onChange={(event) => setOld(event.currentTarget.checked)} /> {t("includeOld")}</label>
        <span class="muted">{number(chosen.notes.length)} {t("notes")} · {number(chosen.links.length)} {t("links")}</span>
      </div>
      {chosen.notes.length === 0 ? (
        <Empty />
      ) : asList ? (
        <>
          <Table
            caption={t("notes")}
            head={[t("content"), t("kind"), t("weight"), t("recordedAt")]}
            rows={chosen.notes.slice(0, rows).map((note) => [
              <button type="button" class="link" onClick={() => open(note.id)}>{note.content}</button>,
              <Badge tone={`kind-${note.kind}`}>{note.kind}</Badge>,
              number(note.weight, 2),
              date(note.recorded_at),
            ])}
          />
          {rows < chosen.notes.length && <button type="button" onClick={() => setRows(rows + ROWS)}>{t("more")}</button>}
        </>
      ) : (
        <>
          <Graph notes={chosen.notes} links={chosen.links} until={until} open={open} />
          <label class="timeline">
            {t("timeline")} {date(new Date(Math.min(until, last)).toISOString())}
            <input type="range" min="0" max="1000" value={moment} onInput={(event) => setMoment(Number(event.currentTarget.value))} />
          </label>
          <p class="muted">{t("graphHelp")}</p>
        </>
      )}
    </Card>
  );
}
