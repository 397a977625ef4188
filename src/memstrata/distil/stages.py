"""The queued stages: index the turns, summarise and draft a page, distil a page that cooled.

Each reads, then calls models, then commits in one transaction; a page that changed in between is planned again. What
the queue can do again after a loss of power does not wait for the disk; a `remember` does, since its caller waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import orjson

from memstrata._version import __version__
from memstrata.distil.advice import Adviser, added
from memstrata.distil.commit import Embedded, Stale, commit_plan
from memstrata.distil.drafting import Drafts, draft_page
from memstrata.distil.knowledge import Known, known_around
from memstrata.distil.plan import Occasion, Plan
from memstrata.distil.planning import make_plan
from memstrata.distil.spending import spent_by
from memstrata.engine import Engine
from memstrata.extract.whole import whole
from memstrata.gate.budget import Spent
from memstrata.index.encode import encode
from memstrata.index.units import (
    Document,
    IndexWriter,
    Vectors,
    document_of,
    note_document,
    page_document,
    turn_document,
)
from memstrata.journal.jobs import Job, complete, is_queued
from memstrata.journal.receipts import receipt_of
from memstrata.store.base import Db, Row
from memstrata.store.counters import Counters, load_counters, save_counters
from memstrata.store.kinds import TURN
from memstrata.store.read import operation_row, served_texts, turns_by_no, turns_of_page
from memstrata.store.rows import candidate_of, dump, from_us
from memstrata.trace import span, tell
from memstrata.types import Candidate, Receipt, Scope, Turn

T = TypeVar("T")
AROUND = 3  # turns before and after a page that its drafting may look at
REPLANS = 20  # how often a plan is made again before the job is postponed


@dataclass(frozen=True, slots=True)
class PageTurns:
    """A page's row, its turns, and those around it in the same session."""

    row: Row
    turns: list[Turn]
    before: list[Turn]
    after: list[Turn]
    served: list[str]


@dataclass(frozen=True, slots=True)
class Work:
    """A job with its page, as far as it is about one; None when the page is gone or was distilled."""

    job: Job
    page: PageTurns | None


Step = Callable[[Db], None]  # what a stage writes, inside a transaction
Then = Callable[[Db], list[Work]]  # what the worker does next, asked in the transaction that commits a stage


def nothing(db: Db) -> list[Work]:
    """Of a stage that is called by itself, nothing follows."""
    return []


def no_step(db: Db) -> None:
    """A stage that is called by itself has its commit for itself."""


def scope_of_job(job: Job) -> Scope:
    kind, _, name = job.owner.partition(":")
    return Scope(job.tenant, name if kind == "u" else None, (job.agent or None) if kind == "u" else name)


async def embed_documents(engine: Engine, documents: Sequence[Document]) -> list[Embedded]:
    """The vectors of documents of one kind, one call to the embedder for all; of turns, those of their tokens too."""
    texts = [text for document in documents for text in document.dense]
    late = engine.settings.late_interaction and any(document.kind == TURN for document in documents)
    with span("memstrata.embed", texts=len(texts)):
        vectors, tokens = await encode(engine.embedder, texts, late=late)
    embedded, start = [], 0
    for document in documents:
        end = start + len(document.dense)
        embedded.append(
            Embedded(replace(document, tokens=tokens[start:end]) if tokens else document, vectors[start:end])
        )
        start = end
    return embedded


def writer_for(engine: Engine, db: Db, scope: Scope, counters: Counters) -> IndexWriter:
    """An index writer, after the check that the store's vectors come from this embedder."""
    if not engine.check_model(db):
        db.run(
            "INSERT INTO meta (key, value) VALUES ('embedder', ?) ON CONFLICT DO NOTHING",
            (engine.embedder.name,),
        )
    return IndexWriter(db, scope.tenant, scope.owner, engine.embedder.name, counters)


def still_queued(db: Db, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that nobody finished, and no erasure took, while we worked."""
    return [job for job in jobs if is_queued(db, job)]


# index ----------------------------------------------------------------------------------------------------------------


def turns_to_index(db: Db, jobs: Sequence[Job]) -> dict[int, Turn]:
    """The turns that some index jobs of one owner are about, by number."""
    numbers = [no for job in jobs for no in range(job.payload["first"], job.payload["last"] + 1)]
    return turns_by_no(db, (jobs[0].tenant, jobs[0].owner), numbers)


async def run_index(engine: Engine, jobs: Sequence[Job], turns: Sequence[Turn], then: Callable[[Db], T]) -> T:
    """Terms and vectors of the turns of some `add`s of one owner. Derived rows only: no operation of its own.

    Returns what `then` finds in the same transaction.
    """
    scope = scope_of_job(jobs[0])
    key = (scope.tenant, scope.owner)
    embedded = await embed_documents(engine, [turn_document(turn) for turn in turns])

    def write(db: Db) -> T:
        mine = still_queued(db, jobs)  # another worker may have been faster with some
        if not mine:
            return then(db)
        present = turns_to_index(db, mine)
        counters = load_counters(db, *key)
        counters.changed += 1
        writer = writer_for(engine, db, scope, counters)
        writer.put_all([(item.document, item.vectors) for item in embedded if item.document.ref in present])
        save_counters(db, *key, counters)
        complete(db, mine)
        return then(db)

    return await engine.store.write(write, durable=False)


# page -----------------------------------------------------------------------------------------------------------------


def read_page(db: Db, job: Job) -> PageTurns | None:
    """A page with its surroundings; None when it is gone or was distilled."""
    key = (job.tenant, job.owner)
    row = db.one("SELECT * FROM pages WHERE tenant = ? AND owner = ? AND no = ?", (*key, job.payload["page"]))
    if row is None or row["state"] != "warm":
        return None
    agent, session, first, last = row["agent"], row["session"], row["first"], row["last"]
    around = turns_of_page(db, key, agent, session, first - AROUND, last + AROUND)
    inside = [turn for turn in around if first <= turn.position <= last and turn.tier != "transcript"]
    return PageTurns(
        row,
        inside,
        [turn for turn in around if turn.position < first],
        [turn for turn in around if turn.position > last],
        served_texts(db, key, agent, session),
    )


def work_of(db: Db, job: Job) -> Work:
    """A job with what it starts from."""
    return Work(job, read_page(db, job) if "page" in job.payload else None)


async def _commit(engine: Engine, *steps: Step, then: Then) -> list[Work]:
    """Write some steps in one transaction; returns what follows."""

    def write(db: Db) -> list[Work]:
        for step in steps:
            step(db)
        return then(db)

    return await engine.store.write(write, durable=False)


async def run_page(engine: Engine, work: Work, then: Then = nothing, before: Step = no_step) -> list[Work]:
    """Summary, its vectors, and the drafts of a new page. `before` is written first, in the same commit."""
    return await _commit(engine, before, await page_step(engine, work), then=then)


async def page_step(engine: Engine, work: Work) -> Step:
    """All of `run_page` but its commit."""
    job, page = work.job, work.page
    if page is None:
        return partial(complete, jobs=[job])
    scope, operation, now = scope_of_page(job, page.row), engine.operation_id(), engine.now()
    made = await _draft(engine, scope, job, page)
    embedded = (await embed_documents(engine, [page_document(page.row["no"], made.summary)]))[0]

    def step(db: Db) -> None:
        if not is_queued(db, job):
            return
        rec = engine.record(db, scope, "page", operation=operation, now=now)
        rec.update("pages", (page.row["no"],), {"summary": made.summary, "drafts": dump(made.candidates)})
        writer_for(engine, db, scope, rec.counter).put(embedded.document, embedded.vectors)
        counts = {"drafts": len(made.candidates), **made.counts}
        rec.finish({"job": job.no}, Receipt(operation, "page", now, counts=counts, versions=made.versions))
        _complete(engine, db, job)

    return step


async def _draft(engine: Engine, scope: Scope, job: Job, page: PageTurns) -> Drafts:
    return await draft_page(
        engine,
        scope,
        job,
        page.row["no"],
        page.turns,
        before=page.before,
        after=page.after,
        served=page.served,
    )


def _complete(engine: Engine, db: Db, job: Job) -> None:
    """Take a done job off the queue, and what a model answered for it."""
    if engine.llm is not None:
        from memstrata.calls import settle

        settle(db, job)
    complete(db, [job])


def scope_of_page(job: Job, row: Row) -> Scope:
    """The scope of a page that a job is about."""
    scope = scope_of_job(job)
    return Scope(scope.tenant, scope.user, row["agent"] or None, row["session"])


# distil ---------------------------------------------------------------------------------------------------------------


async def run_distill(engine: Engine, work: Work, then: Then = nothing, before: Step = no_step) -> list[Work]:
    """The candidates of a cooled page pass the gate; what is admitted becomes linked notes. `before` as for pages."""
    job, page = work.job, work.page
    if page is None:
        return await _commit(engine, before, partial(complete, jobs=[job]), then=then)
    scope, operation, now = scope_of_page(job, page.row), engine.operation_id(), engine.now()
    made = await _drafts_of(engine, scope, job, page)
    sources = {turn.no: turn for turn in (*page.before, *page.turns, *page.after)}
    short = len(page.turns) < engine.settings.page_size
    adviser = Adviser(engine, scope, operation, job, page.row["no"], short)
    occasion = Occasion(
        operation=operation,
        now=now,
        newest_at=from_us(job.payload["newest_at"]),
        agent=scope.agent,
        session=scope.session,
        page=page.row["no"],
        versions=versions(engine, made.versions),
    )

    def write(db: Db, plan: Plan, embedded: Mapping[str, Embedded], notes_changed: int) -> list[Work]:
        before(db)
        if not is_queued(db, job):
            return then(db)
        rec = engine.record(db, scope, "distill", operation=operation, now=now)
        writer = writer_for(engine, db, scope, rec.counter)
        commit_plan(rec, plan, embedded, writer, engine.settings, notes_changed=notes_changed)
        rec.update("pages", (page.row["no"],), {"state": "distilled", "drafts": ""})
        counts = {**counts_of(plan), **added(made.counts, adviser.counts)}
        receipt = Receipt(operation, "distill", now, counts=counts, versions={**made.versions, **adviser.versions})
        rec.finish({"job": job.no}, receipt)
        _complete(engine, db, job)
        return then(db)

    return await plan_and_commit(
        engine, scope, made.candidates, sources, occasion, write, durable=False, adviser=adviser
    )


async def _drafts_of(engine: Engine, scope: Scope, job: Job, page: PageTurns) -> Drafts:
    """The drafts that were made with the page; made now where an undo took them, or the page's own job failed."""
    drafts = page.row["drafts"]
    if not drafts:
        return await _draft(engine, scope, job, page)
    author: dict[str, str] = {}
    if engine.llm is not None:
        from memstrata.calls import author_of_page

        key, number = (job.tenant, job.owner), page.row["no"]
        author = await engine.store.read(lambda db: author_of_page(db, key, number))
    return Drafts(page.row["summary"], [candidate_of(item) for item in orjson.loads(drafts)], versions=author)


# remember -------------------------------------------------------------------------------------------------------------


async def run_remember(engine: Engine, work: Work, then: Then = nothing, before: Step = no_step) -> list[Work]:
    """The candidate of a `remember`, or those of a batch, under the operation that stored the turns: one plan, and at
    most one call of the model."""
    job = work.job
    key = (job.tenant, job.owner)
    no, operation = job.payload["turn"], job.payload["operation"]
    numbers = range(no, job.payload.get("last", no) + 1)
    turns = await engine.store.read(lambda db: turns_by_no(db, key, numbers))
    if not turns:
        return await _commit(engine, before, partial(complete, jobs=[job]), then=then)
    each = job.payload.get("each", [job.payload["tags"]])
    candidates = [
        whole(turns[n], kind=job.payload["kind"], tags=tags)
        for n, tags in zip(numbers, each, strict=True)
        if n in turns
    ]
    turn = next(iter(turns.values()))
    indexed = await embed_documents(engine, [turn_document(each) for each in turns.values()])
    owner, now = scope_of_job(job), engine.now()
    scope = Scope(owner.tenant, owner.user, turn.agent, turn.session)
    occasion = Occasion(
        operation=operation,
        now=now,
        newest_at=from_us(job.payload["newest_at"]),
        agent=turn.agent,
        session=turn.session,
        versions=versions(engine),
        metadata_of={no: each.metadata for no, each in turns.items()},
    )
    adviser = Adviser(engine, scope, operation, job)

    def write(db: Db, plan: Plan, embedded: Mapping[str, Embedded], notes_changed: int) -> list[Work]:
        before(db)
        if not is_queued(db, job):
            return then(db)
        rec = engine.record(db, scope, "remember", operation=operation, now=now, resume=True)
        writer = writer_for(engine, db, scope, rec.counter)
        writer.put_all([(item.document, item.vectors) for item in indexed])
        commit_plan(rec, plan, embedded, writer, engine.settings, notes_changed=notes_changed)
        stored = receipt_of(operation_row(db, scope, operation))
        counts = {**counts_of(plan), **adviser.counts}
        rec.finish({}, replace(stored, counts=counts, versions=adviser.versions))
        _complete(engine, db, job)
        return then(db)

    return await plan_and_commit(engine, scope, candidates, turns, occasion, write, durable=True, adviser=adviser)


def versions(engine: Engine, author: Mapping[str, str] = MappingProxyType({})) -> dict[str, str | None]:
    """What a decision was taken with. `model` and `prompt` are those of an LLM: None where there is none."""
    return {
        "memstrata": __version__,
        "embedder": engine.embedder.name,
        "extraction": "model" if "model" in author else "offline",
        "model": author.get("model"),
        "prompt": author.get("prompt"),
    }


def counts_of(plan: Plan) -> dict[str, int]:
    counts: dict[str, int] = {"links": len(plan.links), "evolved": len(plan.re_embedded)}
    for decision in plan.decisions:
        counts[decision.outcome] = counts.get(decision.outcome, 0) + 1
    return counts


async def plan_and_commit(
    engine: Engine,
    scope: Scope,
    candidates: Sequence[Candidate],
    sources: Mapping[int, Turn],
    occasion: Occasion,
    write: Callable[[Db, Plan, Mapping[str, Embedded], int], T],
    *,
    durable: bool,
    adviser: Adviser | None = None,
) -> T:
    """Plan on a snapshot, ask the model, embed, commit; from scoring again when the notes changed in between."""
    embedded = await embed_candidates(engine, candidates)
    for _ in range(REPLANS):
        plan, vectors, notes_changed = await make_plan_on_snapshot(
            engine, scope, candidates, embedded, sources, occasion, adviser
        )
        try:
            done = await engine.store.write(lambda db: write(db, plan, vectors, notes_changed), durable=durable)  # noqa: B023
        except Stale:
            continue
        for decision in plan.decisions:
            tell("decisions", outcome=decision.outcome)
        return done
    raise Stale


async def make_plan_on_snapshot(
    engine: Engine,
    scope: Scope,
    candidates: Sequence[Candidate],
    embedded: Sequence[Embedded],
    sources: Mapping[int, Turn],
    occasion: Occasion,
    adviser: Adviser | None = None,
) -> tuple[Plan, dict[str, Embedded], int]:
    """The plan, the vectors of the notes it makes or changes, and the state it was made at."""
    index = engine.index(scope)
    vectors = _first_vectors(embedded, engine.embedder.dim)
    key = (scope.tenant, scope.owner)
    policy = engine.policy.for_scope(scope)

    def read(db: Db) -> tuple[Known, Spent | None]:
        known = known_around(db, index, key, scope.agent or "", candidates, vectors)
        return known, spent_by(db, key, policy.budget, candidates)

    known, spent = await engine.store.read(read)
    await engine.keep(index)
    make = partial(make_plan, candidates, vectors, known, sources, occasion, policy, engine.settings)
    plan = make(deepcopy(spent))
    if adviser is not None and (counsel := await adviser.counsel(plan, candidates, known)) is not None:
        plan = make(spent, counsel)
    by_text = {item.document.dense: item for item in embedded}
    wanted = {**plan.notes, **{note_id: plan.updated[note_id] for note_id in plan.re_embedded & plan.updated.keys()}}
    documents = {note_id: document_of(note) for note_id, note in wanted.items()}
    missing = [document for document in documents.values() if document.dense not in by_text]
    for item in await embed_documents(engine, missing):
        by_text[item.document.dense] = item
    ready = {note_id: Embedded(document, by_text[document.dense].vectors) for note_id, document in documents.items()}
    return plan, ready, known.notes_changed


async def embed_candidates(engine: Engine, candidates: Sequence[Candidate]) -> list[Embedded]:
    """The vectors that the candidates' notes would have."""
    return await embed_documents(
        engine, [note_document(0, each.content, each.context, each.keywords, each.tags) for each in candidates]
    )


def _first_vectors(embedded: Sequence[Embedded], dim: int) -> Vectors:
    if not embedded:
        return np.zeros((0, dim), dtype=np.float32)
    return np.stack([item.vectors[0] for item in embedded])
