"""The LongMemEval schema and its official retrieval figures.

A file is a JSON list of questions, each with a haystack of its own: `question_id`, `question_type`, `question`,
`answer`, `question_date`, `haystack_session_ids`, `haystack_dates` ("2023/05/20 (Sat) 02:21"), `haystack_sessions`
(lists of {role, content, has_answer?}) and `answer_session_ids`. Each question is a conversation with one question;
ids that end in "_abs" have no answer and are not scored.

Official figures (`official`): recall_any, recall_all and ndcg_any at 1/3/5/10/30/50 over sessions and over the user's
turns. Their discounted gain does not discount rank 2: log2(2) = 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from memstrata.evaluation.benchmark import TURN_GAP, Benchmark, Conversation, Finding, Question, Said, Session
from memstrata.evaluation.schema import Schema, read_json

NAME = "LongMemEval"
TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
ABSTENTION = "abstention"
CUTS = (1, 3, 5, 10, 30, 50)
DEPTH = 150  # distinct turns ranked, of which about a third are the user's in other sessions: 50 of each are needed

_DATE_FORMAT = "%Y/%m/%d (%a) %H:%M"


def load_longmemeval(path: str | Path) -> Benchmark:
    """Reads a file of the LongMemEval schema. Raises InputError that names the file and the place."""
    path = Path(path)
    schema = Schema(str(path), "LongMemEval")
    findings: list[Finding] = []
    items = schema.of(read_json(path), list, "the file")
    conversations = tuple(_conversation(schema, item, f"[{n}]", findings) for n, item in enumerate(items))
    ids = Counter(conversation.id for conversation in conversations)
    if repeated := [name for name, count in ids.items() if count > 1]:
        raise schema.error("the file", f"two questions have the question_id {repeated[0]!r}")
    labels = {name: name for name in (*TYPES, ABSTENTION)}
    return Benchmark(NAME, conversations, tuple(findings), labels, frozenset({ABSTENTION}), DEPTH)


def official(ranking: Sequence[str], conversation: Conversation, gold: Collection[str]) -> dict[str, float]:
    """The official figures of one question from the turns ranked for it: `session_recall_any@5`, `turn_ndcg_any@10`...

    A session stands where its first turn does; of the turns only the user's are ranked. Without a gold turn of the
    user's there are no turn figures, as in the official program.
    """
    session_of = {turn.id: session.id for session in conversation.sessions for turn in session.turns}
    of_user = {turn.id for turn in conversation.turns if turn.role == "user"}
    sessions = list(dict.fromkeys(session_of[turn] for turn in ranking))
    values = _figures("session", sessions, {session_of[turn] for turn in gold})
    if wanted := of_user & set(gold):
        values |= _figures("turn", [turn for turn in ranking if turn in of_user], wanted)
    return values


def official_means(
    asked: Sequence[tuple[Sequence[str], str, Collection[str]]], conversations: Sequence[Conversation]
) -> dict[str, float]:
    """The means of the official figures over (ranking, conversation id, gold turns) of each question."""
    by_id = {each.id: each for each in conversations}
    values = [official(ranking, by_id[name], gold) for ranking, name, gold in asked]
    names = dict.fromkeys(name for each in values for name in each)
    return {name: round(fmean(each[name] for each in values if name in each), 4) for name in names}


def _figures(what: str, ranking: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for k in CUTS:
        found = [float(one in gold) for one in ranking[:k]]
        values[f"{what}_recall_any@{k}"] = float(sum(found) > 0)
        values[f"{what}_recall_all@{k}"] = float(sum(found) == len(gold))
        values[f"{what}_ndcg_any@{k}"] = _gain(found) / _gain([1.0] * min(len(gold), k))
    return values


def _gain(found: Sequence[float]) -> float:
    return sum(value / (math.log2(rank) if rank > 1 else 1.0) for rank, value in enumerate(found, start=1))


def _conversation(schema: Schema, data: object, where: str, findings: list[Finding]) -> Conversation:
    item = schema.of(data, dict, where)
    name = schema.get(item, "question_id", str, where)
    where = f"{where} {name}"
    ids = schema.get(item, "haystack_session_ids", list, where)
    dates = schema.get(item, "haystack_dates", list, where)
    said = schema.get(item, "haystack_sessions", list, where)
    if not len(ids) == len(dates) == len(said):
        raise schema.error(where, f"{len(ids)} session ids, {len(dates)} dates, {len(said)} sessions")
    sessions: list[Session] = []
    evidence: list[str] = []
    for number, (session_id, date, messages) in enumerate(zip(ids, dates, said, strict=True)):
        place = f"{where}.haystack_sessions[{number}]"
        turns, answering = _turns(schema, messages, number, _time(schema, date, place), place)
        evidence += answering
        if turns:  # an id may come twice in a haystack: its place keeps them apart
            sessions.append(Session(f"{number}:{session_id}", str(date), turns[0].at, tuple(turns)))
        else:
            findings.append(Finding("empty_session", place, str(session_id), reason="a session without text"))
    sessions.sort(key=lambda session: session.at)
    absent = name.endswith("_abs")
    if not evidence and not absent:
        findings.append(Finding("question_without_evidence", where, "", reason="no turn is marked has_answer"))
    question = Question(
        text=schema.get(item, "question", str, where),
        category=ABSTENTION if absent else schema.get(item, "question_type", str, where),
        evidence=() if absent else tuple(evidence),
        answer=schema.text(item, "answer", where),
        asked_at=_time(schema, schema.get(item, "question_date", str, where), where),
    )
    return Conversation(name, ("user",), tuple(sessions), (question,))


def _turns(schema: Schema, data: object, number: int, at: datetime, where: str) -> tuple[list[Said], list[str]]:
    """The turns of a session that say something, and the ids of those marked as holding the answer."""
    turns: list[Said] = []
    answering: list[str] = []
    for index, message in enumerate(schema.of(data, list, where)):
        item: Mapping[str, Any] = schema.of(message, dict, f"{where}[{index}]")
        text = schema.get(item, "content", str, f"{where}[{index}]")
        if not text.strip():
            continue
        role = schema.role(item, f"{where}[{index}]")
        turn = Said(f"{number}:{index}", None, text, at + index * TURN_GAP, role=role)
        turns.append(turn)
        if item.get("has_answer") is True:
            answering.append(turn.id)
    return turns, answering


def _time(schema: Schema, text: object, where: str) -> datetime:
    try:
        return datetime.strptime(schema.of(text, str, where), _DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise schema.error(where, f'{text!r} is not written as "2023/05/20 (Sat) 02:21"') from error
