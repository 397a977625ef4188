"""What other rows hold of a note's words, and how it is taken out when the note is forgotten.

A note's statement is copied in three ways. Evolution puts a piece of it (and tags) into older notes; extraction quotes
what was said just before in the context of what comes next; a page's summary chooses among its turns' sentences. None
of these copies is recorded as such: each is made by a pure function of the statement as it was when the note was made,
which its decision holds, so it is found by making it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from memstrata.distil.commit import Embedded
from memstrata.distil.stages import embed_documents, writer_for
from memstrata.engine import Engine
from memstrata.extract.summary import summarise
from memstrata.index.units import document_of, page_document
from memstrata.journal.recorder import Recorder
from memstrata.notes.evolve import piece_of, without_piece, without_remark
from memstrata.store.base import Db, Row
from memstrata.store.kinds import PAGE
from memstrata.store.read import Key, notes_by_no, select_in
from memstrata.store.rows import candidate_of, dump, turn_of
from memstrata.types import Note

QUOTED_WITHIN = 3  # turns after one in which it may be quoted: `distil.stages.AROUND`
IN_FORCE = ("current", "superseded")
OPEN_BITS = (0, 2)  # turns.hidden of turns that are shown: neither forgotten (1) nor undone (4)


@dataclass(frozen=True, slots=True)
class Origin:
    """A note that goes: its statement and tags as they were when it was made, and the turns that it stands on."""

    no: int
    statement: str
    piece: str
    tags: frozenset[str]
    turns: tuple[Row, ...]
    after: tuple[int, ...]  # those turns and the next ones of their sessions: here a quotation of it may stand
    gained: tuple[tuple[int, frozenset[str]], ...]  # notes that evolved with it, and the tags they gained then


@dataclass(frozen=True, slots=True)
class Holder:
    """A note that holds words of one that goes, as it is and as it will be."""

    old: Note
    new: Note


@dataclass(frozen=True, slots=True)
class Summary:
    """A page whose summary was made of turns that go out of sight, and its summary without them."""

    page: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Traces:
    """What is left elsewhere of some notes. `neighbours` are all notes whose log may quote them."""

    origins: tuple[Origin, ...]
    neighbours: tuple[int, ...]
    lost_tags: Mapping[int, frozenset[str]]  # of neighbours: what they gained of those notes alone
    holders: tuple[Holder, ...]
    summaries: tuple[Summary, ...]

    @property
    def state(self) -> tuple[object, ...]:
        """Equal for two readings between which nothing changed that matters here."""
        notes = [(each.old.no, each.old.revision, each.new.context, each.new.tags) for each in self.holders]
        return (notes, self.summaries, self.neighbours)


# finding --------------------------------------------------------------------------------------------------------------


def find_traces(db: Db, key: Key, notes: Sequence[Note], *, forgetting: bool, purging: bool) -> Traces:
    """What other rows hold of these notes, which a user forgets now, or which go for good, or both."""
    origins = [origin_of(db, key, note) for note in notes]
    going = {note.no for note in notes}
    gained: dict[int, set[str]] = {}
    for origin in origins:
        for no, tags in origin.gained:
            gained.setdefault(no, set()).update(tags)
        for row in select_in(
            db, "SELECT note FROM evidence WHERE tenant = ? AND owner = ? AND turn IN ({marks})", key, origin.after
        ):
            gained.setdefault(row["note"], set())
    neighbours = gained.keys() - going if purging else gained.keys()
    lost: dict[int, frozenset[str]] = {}
    holders = []
    for no, note in notes_by_no(db, key, neighbours).items():
        if gained[no] and "tags" not in note.edited:
            lost[no] = frozenset(gained[no] - _tags_around(db, key, note, going))
        kept = tuple(tag for tag in note.tags if tag not in lost.get(no, ()))
        context = cleaned(note.context, [each for each in origins if each.no != no])
        if (context, kept) != (note.context, note.tags):
            holders.append(Holder(note, replace(note, context=context, tags=kept)))
    hiding = {turn["no"] for note, origin in zip(notes, origins) if hides(note) for turn in origin.turns}
    summaries = _summaries(db, key, origins, hiding if forgetting else set()) if purging else []
    return Traces(tuple(origins), tuple(sorted(neighbours)), lost, tuple(holders), tuple(summaries))


def hides(note: Note) -> bool:
    """Whether forgetting this note now takes it, and with it its turns, out of sight: not what is gone already."""
    return note.state not in ("removed", "undone")


def origin_of(db: Db, key: Key, note: Note) -> Origin:
    """A note as it was when it was made, and where its words may have gone."""
    row = db.one(
        "SELECT n.op, d.body FROM notes n"
        " LEFT JOIN decisions d ON d.tenant = n.tenant AND d.owner = n.owner AND d.id = n.decision"
        " WHERE n.tenant = ? AND n.owner = ? AND n.no = ?",
        (*key, note.no),
    )
    assert row is not None
    statement, tags = note.content, note.tags
    if row["body"] is not None:  # else it came without a decision: nothing evolved with it
        born = candidate_of(orjson.loads(row["body"])["candidate"])
        statement, tags = born.content, born.tags
    turns = db.all(
        "SELECT t.no, t.agent, t.session, t.position, t.page FROM evidence e"
        " JOIN turns t ON t.tenant = e.tenant AND t.owner = e.owner AND t.no = e.turn"
        " WHERE e.tenant = ? AND e.owner = ? AND e.note = ? ORDER BY t.no",
        (*key, note.no),
    )
    after = {
        row["no"]
        for turn in turns
        for row in db.all(
            "SELECT no FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?"
            " AND position BETWEEN ? AND ?",
            (*key, turn["agent"], turn["session"], turn["position"], turn["position"] + QUOTED_WITHIN),
        )
    }
    return Origin(
        no=note.no,
        statement=statement,
        piece=piece_of(statement, note.said_at),
        tags=frozenset(tags),
        turns=tuple(turns),
        after=tuple(sorted(after)),
        gained=tuple(_evolved(db, key, row["op"], note.no, frozenset(tags)).items()),
    )


def _evolved(db: Db, key: Key, operation: str, note: int, tags: frozenset[str]) -> dict[int, frozenset[str]]:
    """The notes that the operation which made a note changed too, and which of its tags they gained."""
    gained: dict[int, frozenset[str]] = {}
    for row in db.all(
        "SELECT ref, before, after FROM changes WHERE tenant = ? AND owner = ? AND op = ? AND tbl = 'notes'"
        " AND before IS NOT NULL AND after IS NOT NULL",
        (*key, operation),
    ):
        before, after = orjson.loads(row["before"]), orjson.loads(row["after"])
        new = set(orjson.loads(after["tags"])) - set(orjson.loads(before["tags"])) if "tags" in after else set()
        if int(row["ref"]) != note:
            gained[int(row["ref"])] = gained.get(int(row["ref"]), frozenset()) | (new & tags)
    return gained


def _tags_around(db: Db, key: Key, note: Note, going: set[int]) -> set[str]:
    """The tags of the notes in force that a note is linked with, those that go left out: it may have them of these."""
    ids = {link.source for link in note.links} | {link.target for link in note.links}
    rows = select_in(
        db, "SELECT no, state, tags FROM notes WHERE tenant = ? AND owner = ? AND id IN ({marks})", key, ids - {note.id}
    )
    around = [row for row in rows if row["no"] not in going and row["state"] in IN_FORCE]
    return {tag for row in around for tag in orjson.loads(row["tags"])}


def cleaned(context: str, origins: Iterable[Origin]) -> str:
    """A context without what it has of these notes."""
    for origin in origins:
        context = without_remark(without_piece(context, origin.piece), origin.statement)
    return context


def _summaries(db: Db, key: Key, origins: Sequence[Origin], hiding: set[int]) -> list[Summary]:
    """The pages of these turns, summarised without what is out of sight."""
    pages = {turn["page"] for origin in origins for turn in origin.turns} - {None}
    found = []
    for page in select_in(
        db, "SELECT * FROM pages WHERE tenant = ? AND owner = ? AND no IN ({marks}) AND summary <> ''", key, pages
    ):
        turns = db.all(
            "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?"
            " AND position BETWEEN ? AND ? AND page = ? ORDER BY position",
            (*key, page["agent"], page["session"], page["first"], page["last"], page["no"]),
        )
        shown = [turn_of(turn) for turn in turns if turn["hidden"] in OPEN_BITS and turn["no"] not in hiding]
        if len(shown) < len(turns) and (new := summarise(shown)) != page["summary"]:
            found.append(Summary(page["no"], page["summary"], new))
    return found


async def embed_traces(engine: Engine, traces: Traces) -> list[Embedded]:
    """The vectors of what changes: holders, then summaries."""
    documents = [document_of(each.new) for each in traces.holders]
    documents += [page_document(each.page, each.new) for each in traces.summaries]
    return await embed_documents(engine, documents)


# taking out -----------------------------------------------------------------------------------------------------------


def take_out(engine: Engine, rec: Recorder, traces: Traces, embedded: Sequence[Embedded]) -> None:
    """Write the holders without those words, each as a revision, and let waiting pages draft anew."""
    _write(engine, rec, traces, embedded)
    for each in traces.holders:
        rec.update("notes", (each.old.no,), {"context": each.new.context, "tags": dump(each.new.tags)})
    _drop_drafts(rec, traces.origins)


def take_out_unlogged(engine: Engine, rec: Recorder, traces: Traces, embedded: Sequence[Embedded]) -> None:
    """The same before a purge, summaries too: no word of it in the log. `clean_log` takes out what the log has."""
    _write(engine, rec, traces, embedded)
    for each in traces.holders:
        rec.overwrite("notes", each.old.no, {"context": each.new.context, "tags": dump(each.new.tags)})
    for page in traces.summaries:
        rec.overwrite("pages", page.page, {"summary": page.new})
    _drop_drafts(rec, traces.origins)


def _write(engine: Engine, rec: Recorder, traces: Traces, embedded: Sequence[Embedded]) -> None:
    if not embedded:
        return
    writer = writer_for(engine, rec.db, rec.scope, rec.counter)
    for item in embedded:
        if item.document.dense:
            writer.put(item.document, item.vectors)
        else:  # a page of which nothing is left to be seen
            writer.drop(PAGE, item.document.ref)


def _drop_drafts(rec: Recorder, origins: Iterable[Origin]) -> None:
    """Drafts that may quote these notes are made anew, when their page is distilled, without what is out of sight."""
    turns = sorted({no for origin in origins for no in origin.after})
    rows = select_in(
        rec.db, "SELECT DISTINCT page FROM turns WHERE tenant = ? AND owner = ? AND no IN ({marks})", rec.key, turns
    )
    for row in rows:
        rec.db.run(
            "UPDATE pages SET drafts = '' WHERE tenant = ? AND owner = ? AND no = ? AND state = 'warm'",
            (*rec.key, row["page"]),
        )
