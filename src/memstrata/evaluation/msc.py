"""Multi-Session Chat: chains of sessions in JSON Lines (also gzipped), with what people wrote down of a turn.

A line has `initial_data_id` and `sessions`, each with `session`, `time_back` and `turns` of {speaker, text,
persona_text}. `persona_text` is the sentence a person made of the turn. The data has no questions: each such sentence
is asked, and the turn it was made of is its evidence; the category is the session. The statements themselves are kept
in `Conversation.statements`, to be compared with what distillation made of the turn.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memstrata.evaluation.benchmark import TURN_GAP, Benchmark, Conversation, Question, Said, Session
from memstrata.evaluation.schema import Schema, read_lines

THIRD_SESSION = datetime(2022, 1, 1, 12, tzinfo=UTC)  # the data has no dates: its third session is set to this day
LAST_GAP = timedelta(days=7)  # from the third session to the fourth, which the data does not say
CATEGORIES = {str(number): f"session {number}" for number in range(1, 6)}

_BACK = re.compile(r"(\d+) (day|hour|minute)s?")


def load_msc(path: str | Path) -> Benchmark:
    """Reads a file of chains. Raises InputError that names the file and the line."""
    path = Path(path)
    schema = Schema(str(path), "Multi-Session Chat")
    conversations = tuple(_chain(schema, item, f"[{n}] {where}") for n, (where, item) in enumerate(read_lines(path)))
    return Benchmark("Multi-Session Chat", conversations, categories=CATEGORIES)


def _chain(schema: Schema, data: object, where: str) -> Conversation:
    item = schema.of(data, dict, where)
    sessions: list[Session] = []
    questions: list[Question] = []
    statements: dict[str, str] = {}
    for index, session in enumerate(schema.get(item, "sessions", list, where)):
        place = f"{where}.sessions[{index}]"
        body = schema.of(session, dict, place)
        number = schema.get(body, "session", int, place)
        at = _time(schema.text(body, "time_back", place), index)
        turns: list[Said] = []
        for position, each in enumerate(schema.get(body, "turns", list, place)):
            turn = schema.of(each, dict, f"{place}.turns[{position}]")
            said = Said(
                f"S{number}:{position + 1}",
                schema.get(turn, "speaker", str, place),
                schema.get(turn, "text", str, place),
                at + position * TURN_GAP,
            )
            if not said.text.strip():
                continue
            turns.append(said)
            if statement := schema.text(turn, "persona_text", place):
                statements[said.id] = statement
                questions.append(Question(statement, str(number), (said.id,)))
        if turns:
            sessions.append(Session(f"session_{number}", "", at, tuple(turns)))
    name = schema.get(item, "initial_data_id", str, where)
    speakers = tuple(dict.fromkeys(turn.speaker or "" for session in sessions for turn in session.turns))
    return Conversation(name, speakers, tuple(sessions), tuple(questions), statements)


def _time(back: str | None, index: int) -> datetime:
    """A session's time: `time_back` counts from the third; the fourth has none."""
    if back is None:
        return THIRD_SESSION + (LAST_GAP if index > 2 else timedelta())
    parts = {unit: int(count) for count, unit in _BACK.findall(back)}
    return THIRD_SESSION - timedelta(**{f"{unit}s": count for unit, count in parts.items()})
