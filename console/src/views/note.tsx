import { useState } from "preact/hooks";
import { api } from "../api";
import { date, number, t } from "../i18n";
import type { Scope } from "../state";
import type { Note, Revision } from "../types";
import { Badge, Dialog, Failure, Loading, Table } from "../ui/basics";
import { WeightCurve } from "../ui/charts";
import { useData } from "../ui/data";
import { Quote } from "../ui/quote";
import { Signals } from "./signals";

interface Props {
  scope: Scope;
  id: string;
  open: (note: string) => void;
  onClose: () => void;
}

/** One note with all that is known of it, and what can be done with it. */
export function NoteDrawer({ scope, id, open, onClose }: Props) {
  const note = useData(() => api.note(scope, id), [scope.user, scope.agent, id]);
  const history = useData(() => api.history(scope, id), [scope.user, scope.agent, id, note.value?.revision]);
  const [failure, setFailure] = useState<Error | null>(null);
  const act = async (what: () => Promise<unknown>) => {
    try {
      await what();
      setFailure(null);
      note.again();
    } catch (error) {
      setFailure(error as Error);
    }
  };
  return (
    <Dialog title={`${t("note")} ${id}`} onClose={onClose} wide>
      {note.error && <Failure error={note.error} again={note.again} />}
      {failure && <Failure error={failure} />}
      {!note.value && !note.error && <Loading />}
      {note.value && (
        <>
          <Actions scope={scope} note={note.value} act={act} />
          <Facts note={note.value} open={open} />
          <Fading note={note.value} />
          <Why scope={scope} note={note.value} />
          <Said note={note.value} />
        </>
      )}
      {history.value && <Changes revisions={history.value} />}
    </Dialog>
  );
}

function Actions({ scope, note, act }: { scope: Scope; note: Note; act: (what: () => Promise<unknown>) => Promise<void> }) {
  return (
    <div class="actions">
      <button type="button" onClick={() => void act(() => api.pin(scope, note.id, !note.pinned))}>
        {note.pinned ? t("unpin") : t("pin")}
      </button>
      {note.state === "forgotten" ? (
        <button type="button" onClick={() => void act(() => api.restore(scope, note.id))}>{t("restore")}</button>
      ) : (
        <button type="button" class="danger" onClick={() => void act(() => api.forget(scope, note.id))}>{t("forget")}</button>
      )}
    </div>
  );
}

function Facts({ note, open }: { note: Note; open: (note: string) => void }) {
  const words = (items: string[]) => items.map((each) => <Badge key={each}>{each}</Badge>);
  return (
    <>
      <p class="said">{note.content}</p>
      <p>
        <Badge tone={note.state}>{note.state}</Badge> <Badge tone={`kind-${note.kind}`}>{note.kind}</Badge>{" "}
        {note.pinned && <Badge tone="pinned">{t("pin")}</Badge>}
      </p>
      <dl>
        {note.context && <><dt>{t("context")}</dt><dd>{note.context}</dd></>}
        {note.keywords.length > 0 && <><dt>{t("keywords")}</dt><dd>{words(note.keywords)}</dd></>}
        {note.tags.length > 0 && <><dt>{t("tags")}</dt><dd>{words(note.tags)}</dd></>}
        {note.names.length > 0 && <><dt>{t("names")}</dt><dd>{words(note.names)}</dd></>}
        <dt>{t("validity")}</dt>
        <dd>{date(note.valid_from)} → {note.valid_to ? date(note.valid_to) : "…"}</dd>
        <dt>{t("saidAt")}</dt>
        <dd>{date(note.said_at, true)}</dd>
        <dt>{t("recordedAt")}</dt>
        <dd>{date(note.recorded_at, true)}</dd>
        {note.superseded_by && (
          <>
            <dt>{t("supersededBy")}</dt>
            <dd><button type="button" class="link" onClick={() => open(note.superseded_by!)}>{note.superseded_by}</button></dd>
          </>
        )}
      </dl>
      {note.links.length > 0 && (
        <>
          <h3>{t("links")}</h3>
          <ul class="links">
            {note.links.map((link) => {
              const other = link.source === note.id ? link.target : link.source;
              return (
                <li key={`${link.source}${link.target}${link.type}`}>
                  <Badge tone={`link-${link.type}`}>{link.type}</Badge>{" "}
                  <button type="button" class="link" onClick={() => open(other)}>{other}</button> {number(link.score, 2)}
                  <span class="muted"> {link.reason}</span>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </>
  );
}

function Fading({ note }: { note: Note }) {
  return (
    <>
      <h3>{t("weight")}</h3>
      {note.pinned || !note.forgets_at ? (
        <p>{t("neverForgotten")}</p>
      ) : (
        <>
          <p>{t("forgottenOn")}: <strong>{date(note.forgets_at)}</strong></p>
          <WeightCurve lastAccess={note.last_access} forgetsAt={note.forgets_at} weight={note.weight} label={t("weightCurve")} />
        </>
      )}
    </>
  );
}

function Why({ scope, note }: { scope: Scope; note: Note }) {
  const { value } = useData(
    () => (note.decision ? api.explain(scope, note.id) : Promise.resolve(null)),
    [note.id, note.decision, scope.user, scope.agent],
  );
  if (!value) return null;
  return (
    <>
      <h3>{t("why")}</h3>
      <p>{value.sentence}</p>
      <Signals decision={value.decision} />
    </>
  );
}

function Said({ note }: { note: Note }) {
  if (note.evidence.length === 0) return null;
  return (
    <>
      <h3>{t("evidence")}</h3>
      {note.evidence.map((each) => (
        <Quote key={each.id} said={each} />
      ))}
    </>
  );
}

function Changes({ revisions }: { revisions: Revision[] }) {
  const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return (
    <>
      <h3>{t("history")}</h3>
      <Table
        caption={t("history")}
        head={[t("time"), t("operation"), t("change")]}
        rows={revisions.map((each) => [
          date(each.at, true),
          each.verb,
          <ul class="changes">
            {Object.entries(each.after ?? {}).slice(0, 8).map(([name, value]) => (
              <li key={name}>
                <b>{name}</b> {each.before && name in each.before && <del>{show(each.before[name])}</del>} {show(value)}
              </li>
            ))}
          </ul>,
        ])}
      />
    </>
  );
}
