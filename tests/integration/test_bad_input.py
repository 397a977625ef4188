"""Input that cannot be taken: a typed error that says what and where, and the store as it was before."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory, SetClock
from memstrata.errors import (
    ConflictError,
    IdempotencyError,
    InputError,
    MemstrataError,
    MessageError,
    NotFoundError,
    ScopeError,
    TimeError,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HUGE = 10 * 2**20
ANA = {"user_id": "ana"}


def rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


class Bench:
    """A memory with a past, that can tell whether a call changed it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.memory = Memory(path, embedder="hashing", worker=False, clock=SetClock(NOW))
        self.operation = self.memory.remember("I live in Porto.", **ANA).operation
        self.note = self.memory.list(**ANA).notes[0].id
        self.memory.add({"role": "user", "content": "京都に行きました。", "id": "m1"}, session_id="s", **ANA)
        self.memory.add("I like tea.", idempotency_key="k1", **ANA)
        self.memory.flush()

    def dump(self) -> list[str]:
        self.memory.flush()  # touches of the recalls before
        return rows(self.path)

    def refuses(self, call: Callable[[], object], error: type[MemstrataError]) -> str:
        """That the call raises this error and changes nothing; gives the error's text, which can be printed."""
        before = self.dump()
        with pytest.raises(error) as caught:
            call()
        assert self.dump() == before
        str(caught.value).encode()
        assert len(str(caught.value)) < 1000, "an error does not repeat ten megabytes"
        return str(caught.value)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bad input") / "memory.db")
    yield made
    made.memory.close()


# messages -------------------------------------------------------------------------------------------------------------


def said(content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


MESSAGES: list[tuple[str, Any, type[MemstrataError], str]] = [
    ("empty string", "", MessageError, "empty"),
    ("white space", " \n\t　", MessageError, "empty"),
    ("empty list", [], MessageError, "empty"),
    ("empty dict", {}, MessageError, "role"),
    ("empty content", {"role": "user", "content": ""}, MessageError, "empty"),
    ("no content", {"role": "user"}, MessageError, "empty"),
    ("ten megabytes", "x" * HUGE, MessageError, "limit"),
    ("ten megabytes of Chinese", "我" * (HUGE // 3), MessageError, "limit"),
    ("ten megabytes in a part", said([{"type": "text", "text": "x" * HUGE}]), MessageError, "limit"),
    ("bytes", b"hello", MessageError, "decode"),
    ("bytes as content", {"role": "user", "content": b"hello"}, MessageError, "binary"),
    ("binary read as text", "\x7fELF\x02\x01\x00\x00", MessageError, "null byte"),
    ("null byte", "a\x00b", MessageError, "null byte"),
    ("lone surrogate", "smile \ud83d", MessageError, "surrogate"),
    ("surrogate in a name", said(name="A\udc00"), MessageError, "name"),
    ("null byte in an id", said(id="a\x00"), MessageError, "id"),
    ("empty id", said(id=""), MessageError, "id"),
    ("long id", said(id="x" * 257), MessageError, "257"),
    ("number as id", said(id=7), MessageError, "str(id)"),
    ("number", 7, MessageError, "int"),
    ("none", None, MessageError, "NoneType"),
    ("set", {"a"}, MessageError, "set"),
    ("class", Exception, MessageError, "type"),
    ("number as content", {"role": "user", "content": 7}, MessageError, "int"),
    ("number as role", {"role": 7, "content": "hi"}, MessageError, "role"),
    ("unknown role", {"role": "alien", "content": "hi"}, MessageError, "'alien'"),
    ("no role", {"content": "hi"}, MessageError, "role"),
    ("loose string", [{"role": "user", "content": "hi"}, "loose"], MessageError, "messages[1]"),
    ("unknown part", {"role": "user", "content": [{"type": "hologram"}]}, MessageError, "hologram"),
    ("naive time", said(at=datetime(2023, 5, 8)), TimeError, "zone"),
    ("naive time as text", said(at="2023-05-08T13:56:00"), TimeError, "zone"),
    ("date", said(at=date(2023, 5, 8)), TimeError, "date"),
    ("epoch", said(at=1683554160), TimeError, "epoch"),
    ("words as time", said(at="yesterday"), TimeError, "ISO 8601"),
    ("future", said(at=NOW + timedelta(days=2)), TimeError, "after now"),
    ("end of the calendar", said(at=datetime.max.replace(tzinfo=UTC)), TimeError, "years"),
    ("before computers", said(at="1812-01-01T00:00:00Z"), TimeError, "years"),
    ("metadata is a list", said(metadata=[1]), MessageError, "metadata"),
    ("metadata is no JSON", said(metadata={"a": object()}), MessageError, "JSON"),
    ("metadata is not a number", said(metadata={"a": float("nan")}), MessageError, "JSON"),
    ("metadata has a huge number", said(metadata={"a": 10**30}), MessageError, "64 bits"),
    ("metadata has a surrogate", said(metadata={"a": ["\ud800"]}), MessageError, "surrogate"),
    ("metadata has a numbered key", said(metadata={1: 2}), MessageError, "key"),
    ("metadata of ten megabytes", said(metadata={"a": "x" * HUGE}), MessageError, "limit"),
    ("an id said otherwise", said("other words", id="m1"), ConflictError, "'m1'"),
]  # fmt: skip
each_message = pytest.mark.parametrize(
    ("messages", "error", "told"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES]
)


@pytest.mark.parametrize(
    ("messages", "error", "told"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES]
)
def test_a_message_that_cannot_be_taken(bench: Bench, messages: Any, error: type[MemstrataError], told: str) -> None:
    assert told in bench.refuses(lambda: bench.memory.add(messages, session_id="s", **ANA), error)


@pytest.mark.parametrize(
    ("messages", "error", "told"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES]
)
def test_one_bad_message_among_good_ones_stores_none_and_names_its_place(
    bench: Bench, messages: Any, error: type[MemstrataError], told: str
) -> None:
    good = {"role": "user", "content": "I moved to Lisbon."}
    if isinstance(messages, list):
        messages = messages[-1] if messages else None
        told = ""
    text = bench.refuses(lambda: bench.memory.add([good, good, messages, good], session_id="s", **ANA), MemstrataError)
    assert "messages[2]" in text
    assert told in text or isinstance(messages, (str, bytes))


@pytest.mark.parametrize("text", ["", "  ", b"bytes", 7, None, ["a", 7], "a\x00b", "\ud800", "x" * HUGE])
def test_a_statement_that_cannot_be_taken(bench: Bench, text: Any) -> None:
    for call in (bench.memory.remember, bench.memory.preview):
        bench.refuses(lambda call=call: call(text, **ANA), MessageError)  # type: ignore[misc]


def test_the_largest_message_is_taken_and_found(bench: Bench, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="hashing", clock=SetClock(NOW)) as memory:
        memory.add("The needle is here. " + "straw 京都 我们 " * 6_000 + "The hook is last.", **ANA)
        memory.flush()
        for term in ("needle", "hook"):
            assert term in memory.recall(term, **ANA)[0].text
        assert memory.check() == ()


def test_a_limit_is_a_setting(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="hashing", worker=False, max_chars=10) as memory:
        with pytest.raises(MessageError, match="10"):
            memory.add("eleven char", **ANA)
        memory.add("ten chars.", **ANA)


def test_what_is_odd_but_right_is_taken_as_it_is(bench: Bench, tmp_path: Path) -> None:
    """Whole surrogate pairs, combining marks, directions, emoji families, control characters of texts."""
    odd = [
        "👩‍👩‍👧 \u202eabc\u202c",
        "e\u0301 vs é",
        "tab\tand\r\nline",
        "\x07 bell",
        "%_%'\";--",
        "ﷺ",
        "\U0010ffff",
        "a" * 5_000,
    ]
    with Memory(tmp_path / "memory.db", embedder="hashing", clock=SetClock(NOW)) as memory:
        for text in odd:
            memory.add(text, **ANA)
        memory.flush()
        turns = memory.context("?", strategy="window", max_tokens=50_000, **ANA).turns
        assert [turn.text for turn in turns] == odd
        assert memory.check() == ()


# whose memory ---------------------------------------------------------------------------------------------------------

BAD_IDS: list[Any] = ["", " ", 7, True, b"ana", ["ana"], {}, 1.5, "a\x00", "a\nb", "\x1b[2J", "\ud800", "x" * 257]


@pytest.mark.parametrize("bad", BAD_IDS, ids=[repr(bad)[:20] for bad in BAD_IDS])
def test_an_id_that_cannot_be_taken(bench: Bench, bad: Any) -> None:
    memory = bench.memory
    for name in ("user_id", "agent_id", "session_id"):
        scope = {"user_id": "ana", name: bad}
        assert name in bench.refuses(lambda scope=scope: memory.add("hi", **scope), ScopeError)  # type: ignore[misc]
        bench.refuses(lambda scope=scope: memory.recall("hi", **scope), ScopeError)  # type: ignore[misc]


def test_a_call_without_an_owner_is_refused_by_every_verb(bench: Bench) -> None:
    memory = bench.memory
    calls: list[Callable[[], object]] = [
        lambda: memory.add("hi"),
        lambda: memory.add("hi", session_id="s"),
        lambda: memory.remember("hi"),
        lambda: memory.preview("hi"),
        lambda: memory.recall("hi"),
        lambda: memory.context("hi"),
        lambda: memory.end_session(session_id="s"),
        lambda: memory.profile(),
        lambda: memory.get(bench.note),
        lambda: memory.list(),
        lambda: memory.update(bench.note, content="x"),
        lambda: memory.pin(bench.note),
        lambda: memory.forget(bench.note),
        lambda: memory.forget(filters={"kind": "fact"}),
        lambda: memory.restore(bench.note),
        lambda: memory.history(bench.note),
        lambda: memory.receipt(bench.operation),
        lambda: memory.undo(bench.operation),
        lambda: memory.explain(bench.note),
        lambda: memory.erase(),
        lambda: memory.erase(user_id="ana", agent_id="a"),
    ]
    for call in calls:
        bench.refuses(call, ScopeError)


LOOKALIKES = [
    "a", "aa", "ab", "a%", "a_", "a.", "a:", "a/", "a/b", "a.b", "a:b", "%", "_", ".", "..", ":", "/", "u:a", "a:a",
    "A", "á", "a ", "a'", 'a"', "a\\", "a;--", "a*", "a?b", "[a]", "京都", "京", "é", "e\u0301", "\u202ea",
]  # fmt: skip


def test_ids_that_look_alike_or_hold_wildcards_are_strangers(tmp_path: Path) -> None:
    """As users, as agents, and as sessions of one user; every read gives its own only, and erasing takes its own."""
    with Memory(tmp_path / "memory.db", embedder="hashing", worker=False, clock=SetClock(NOW)) as memory:
        for n, name in enumerate(LOOKALIKES):
            memory.remember(f"User number {n} lives in Utown{n}.", user_id=name)
            memory.add(f"agent {n}", agent_id=name)
            memory.add(f"session {n}", user_id="all", session_id=name)
            memory.add(f"both {n}", user_id="shared", agent_id=name)
        memory.flush()
        for n, name in enumerate(LOOKALIKES):
            assert [note.content for note in memory.list(user_id=name)] == [f"User number {n} lives in Utown{n}."]
            found = memory.recall("User number lives agent", user_id=name, k=100, touch=False)
            assert {hit.text.removeprefix("user: ") for hit in found} == {f"User number {n} lives in Utown{n}."}
            assert [turn.text for turn in memory.context("?", agent_id=name, strategy="window").turns] == [f"agent {n}"]
            window = memory.context("?", user_id="all", session_id=name, strategy="window").turns
            assert [turn.text for turn in window] == [f"session {n}"]
            window = memory.context("?", user_id="shared", agent_id=name, strategy="full").turns
            assert [turn.text for turn in window] == [f"both {n}"]
            assert memory.stats(user_id=name)["turns"] == 1
        memory.erase(user_id="a%")
        memory.erase(agent_id="_")
        memory.end_session(user_id="all", session_id="%")
        for name in LOOKALIKES:
            assert memory.stats(user_id=name)["turns"] == (name != "a%")
            assert memory.stats(agent_id=name)["turns"] == (name != "_")
        assert memory.stats(user_id="all")["tiers"]["hot_turns"] == len(LOOKALIKES) - 1
        assert memory.check() == ()


def test_message_ids_with_wildcards_and_prefixes_are_their_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="hashing", worker=False, clock=SetClock(NOW)) as memory:
        for n, name in enumerate(LOOKALIKES):
            message = {"role": "user", "content": f"message {n}", "id": name}
            assert memory.add(message, session_id="s", **ANA).messages[0].outcome == "stored"
            assert memory.add(message, session_id="s", **ANA).messages[0].outcome == "skipped"
            assert memory.add("keyed", idempotency_key=name, **ANA).repeated is False
            assert memory.add("keyed", idempotency_key=name, **ANA).repeated is True
        assert memory.stats()["turns"] == 2 * len(LOOKALIKES)


# every argument of every verb -----------------------------------------------------------------------------------------

ODD: list[Any] = [
    "", " ", 0, -1, 1, 10**30, 1.5, float("nan"), float("inf"), True, b"x", bytearray(b"x"), [], {}, (), set(),
    object(), "\ud800", "a\x00b", "x" * 300, [1], ["a", 1], ["\ud800"], {"a": 1}, {1: 2}, {"a": object()},
    {"a": float("nan")}, {"a": "\ud800"}, {"a": 10**30}, datetime(2020, 1, 1), date(2020, 1, 1),
    datetime.max.replace(tzinfo=UTC), "2020-01-01", "2020-01-01T00:00:00", "yesterday",
    lambda: 1, Exception, ["x" * 5_000], "Etc/Nowhere",
    "../../etc/passwd", timedelta(1), range(3), {"AND": 5}, {"content": {"regex": "x"}}, {"recorded_at": {"gt": "x"}},
]  # fmt: skip
VERBS = (
    "add", "remember", "preview", "end_session", "recall", "context", "profile", "get", "list", "update", "pin",
    "forget", "restore", "history", "receipt", "undo", "explain",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_argument_of_any_verb_gives_an_error_of_another_kind(tmp_path: Path, verb: str) -> None:
    """Taken, or refused by a typed error that changed nothing."""
    bench = Bench(tmp_path / "memory.db")
    right = {
        "messages": "hi", "text": "I like tea.", "query": "tea", "note_id": bench.note, "id": bench.note,
        "operation": bench.operation, "user_id": "ana",
    }  # fmt: skip
    call = getattr(bench.memory, verb)
    parameters = inspect.signature(call).parameters
    needed = {
        name: right[name]
        for name, parameter in parameters.items()
        if name in right and (parameter.default is inspect.Parameter.empty or name == "user_id")
    }
    with closing(sqlite3.connect(bench.path)) as db:

        def commits() -> int:
            """Changes with every commit of another connection."""
            return int(db.execute("PRAGMA data_version").fetchone()[0])

        for name in parameters:
            for odd in ODD:
                before = commits()
                try:
                    call(**{**needed, name: odd})
                except MemstrataError as error:
                    str(error).encode()
                    assert commits() == before, (name, odd)
                else:
                    bench.memory.flush()  # touches and queued work of what was taken are not the next call's
    assert bench.memory.check() == ()
    bench.memory.close()


def test_what_is_not_there_is_not_found(bench: Bench) -> None:
    memory = bench.memory
    for unknown in ("n_0000", "", "%", bench.note + "%", bench.note[:-1], bench.note.upper(), "' OR 1=1 --"):
        for verb in (memory.get, memory.pin, memory.forget, memory.restore, memory.history, memory.explain):
            bench.refuses(lambda verb=verb, unknown=unknown: verb(unknown, **ANA), NotFoundError)  # type: ignore[misc]
        bench.refuses(lambda unknown=unknown: memory.receipt(unknown, **ANA), NotFoundError)  # type: ignore[misc]
        bench.refuses(lambda unknown=unknown: memory.undo(unknown, **ANA), NotFoundError)  # type: ignore[misc]
    bench.refuses(lambda: memory.get(bench.note, user_id="eve"), NotFoundError)


def test_a_key_that_was_used_for_something_else(bench: Bench) -> None:
    add = bench.memory.add
    assert "'k1'" in bench.refuses(lambda: add("I like coffee.", idempotency_key="k1", **ANA), IdempotencyError)
    for bad in ("", "x" * 257, 7, b"k", "\ud800", "a\x00"):
        bench.refuses(lambda bad=bad: add("I like tea.", idempotency_key=bad, **ANA), InputError)  # type: ignore[misc]
