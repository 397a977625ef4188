"""The log without the words of notes that go for good: changes, edits, decisions and reasons that quote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from memstrata.journal.recorder import Recorder
from memstrata.ledger.traces import Origin, Summary, Traces, cleaned
from memstrata.notes.evolve import without_remark
from memstrata.store.base import Row
from memstrata.store.read import select_in
from memstrata.store.rows import dump
from memstrata.types import Note

GONE = "what it took the place of is gone"


def clean_log(rec: Recorder, traces: Traces, notes: Sequence[Note]) -> None:
    """Take out of the log what it has of these notes elsewhere than in their own rows.

    What it says of their neighbours is then as if these notes had never touched them.
    """
    for no in traces.neighbours:
        _clean_changes(rec, no, traces)
        _clean_updates(rec, no, traces.origins)
    for page in traces.summaries:
        _clean_summaries(rec, page)
    for origin in traces.origins:
        _clean_quotations(rec, origin)
    revised = [note.id for note in notes if note.slot is not None]
    if revised:
        _clean_reasons(rec, revised)


def _logged(rec: Recorder, table: str, no: int) -> list[Row]:
    """What was changed in a row after it was made."""
    return rec.db.all(
        "SELECT op, n, before, after FROM changes WHERE tenant = ? AND owner = ? AND tbl = ? AND ref = ?"
        " AND before IS NOT NULL AND after IS NOT NULL",
        (*rec.key, table, str(no)),
    )


def _rewrite(rec: Recorder, row: Row, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Put other values into a logged change; one that changes nothing any more goes."""
    same = [name for name in before if before[name] == after[name]]
    before, after = ({name: side[name] for name in side if name not in same} for side in (before, after))
    where = (*rec.key, row["op"], row["n"])
    if before:
        rec.db.run(
            "UPDATE changes SET before = ?, after = ? WHERE tenant = ? AND owner = ? AND op = ? AND n = ?",
            (dump(before), dump(after), *where),
        )
    else:
        rec.db.run("DELETE FROM changes WHERE tenant = ? AND owner = ? AND op = ? AND n = ?", where)


def _clean_changes(rec: Recorder, no: int, traces: Traces) -> None:
    lost = traces.lost_tags.get(no, frozenset())
    for row in _logged(rec, "notes", no):
        sides = orjson.loads(row["before"]), orjson.loads(row["after"])
        new = [_clean_side(side, traces.origins, lost) for side in sides]
        if new != list(sides):
            _rewrite(rec, row, *new)


def _clean_side(side: dict[str, Any], origins: Sequence[Origin], lost: frozenset[str]) -> dict[str, Any]:
    new = dict(side)
    if "context" in side:
        new["context"] = cleaned(side["context"], origins)
    if "tags" in side:
        new["tags"] = dump([tag for tag in orjson.loads(side["tags"]) if tag not in lost])
    return new


def _clean_summaries(rec: Recorder, page: Summary) -> None:
    """Of a page's summaries only the one that it has now is told."""
    for row in _logged(rec, "pages", page.page):
        before, after = orjson.loads(row["before"]), orjson.loads(row["after"])
        if "summary" in after:
            for side in (before, after):
                side["summary"] = page.new if side["summary"] else ""
            _rewrite(rec, row, before, after)


def _clean_updates(rec: Recorder, no: int, origins: Sequence[Origin]) -> None:
    """A person's edits of a neighbour that carried a piece along."""
    rows = rec.db.all(
        "SELECT DISTINCT o.id, o.payload FROM changes c"
        " JOIN operations o ON o.tenant = c.tenant AND o.owner = c.owner AND o.id = c.op"
        " WHERE c.tenant = ? AND c.owner = ? AND c.tbl = 'notes' AND c.ref = ? AND o.verb = 'update'",
        (*rec.key, str(no)),
    )
    for row in rows:
        payload = orjson.loads(row["payload"])
        context = payload.get("edits", {}).get("context", "")
        if (new := cleaned(context, origins)) != context:
            payload["edits"]["context"] = new
            rec.db.run(
                "UPDATE operations SET payload = ? WHERE tenant = ? AND owner = ? AND id = ?",
                (dump(payload), *rec.key, row["id"]),
            )


def _clean_quotations(rec: Recorder, origin: Origin) -> None:
    """Candidates of the next turns that quote a note in their context."""
    for row in select_in(
        rec.db,
        "SELECT id, body FROM decisions WHERE tenant = ? AND owner = ? AND turn IN ({marks})",
        rec.key,
        origin.after,
    ):
        body = orjson.loads(row["body"])
        context = without_remark(body["candidate"]["context"], origin.statement)
        if context != body["candidate"]["context"]:
            body["candidate"]["context"] = context
            _put_body(rec, row["id"], dump(body))


def _clean_reasons(rec: Recorder, revised: Sequence[str]) -> None:
    """Decisions and links whose reason names the value that a note had before it was revised."""
    gone = set(revised)
    for row in rec.db.all(
        'SELECT id, note, body FROM decisions WHERE tenant = ? AND owner = ? AND body LIKE \'%"relation":"revision"%\'',
        rec.key,
    ):
        body = orjson.loads(row["body"])
        if body["nearest"] not in gone:
            continue
        reason = body["computed_from"]["relation_reason"]
        _put_body(rec, row["id"], row["body"].replace(dump(reason)[1:-1], GONE))
        rec.db.run(
            "UPDATE links SET reason = replace(reason, ?, ?) WHERE tenant = ? AND owner = ? AND type = 'supersedes'"
            " AND source IN (SELECT no FROM notes WHERE tenant = ? AND owner = ? AND id = ?)",
            (reason, GONE, *rec.key, *rec.key, row["note"]),
        )


def _put_body(rec: Recorder, decision: str, body: str) -> None:
    rec.db.run("UPDATE decisions SET body = ? WHERE tenant = ? AND owner = ? AND id = ?", (body, *rec.key, decision))
