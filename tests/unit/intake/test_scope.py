import pytest

from memstrata.errors import ScopeError
from memstrata.intake.scope import scope_of
from memstrata.types import Scope


def test_a_scope_keeps_its_ids_as_they_are() -> None:
    assert scope_of("t", "Ana ", "a", "s") == Scope("t", "Ana ", "a", "s")
    assert scope_of("t", "u").owner == "u:u"
    assert scope_of("t", agent_id="a").owner == "a:a"


@pytest.mark.parametrize(
    "odd", ["%", "_", "a.b", "u:1", "a/b", "..", "../..", "田中", "小李", "user 1", "'; DROP", "😀", "a" * 256]
)
def test_odd_ids_are_taken_and_mean_nothing(odd: str) -> None:
    assert scope_of(odd, odd, odd, odd) == Scope(odd, odd, odd, odd)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("a" * 257, "256"),
        ("a\x00b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\x85", "U+0085"),
        ("a\ud800", "U+D800"),
        (7, "str"),
        (True, "bool"),
        (1.5, "float"),
        (b"a", "bytes"),
        (["a"], "list"),
    ],
)
@pytest.mark.parametrize("which", ["tenant", "user_id", "agent_id", "session_id"])
def test_bad_ids_are_refused_by_name(bad: object, word: str, which: str) -> None:
    ids: dict[str, object] = {"tenant": "t", "user_id": "u", which: bad}
    with pytest.raises(ScopeError, match=which) as caught:
        scope_of(**ids)
    assert word in str(caught.value)


def test_an_int_is_told_what_to_pass() -> None:
    with pytest.raises(ScopeError, match=r"user_id must be a string, not int: pass str\(id\)"):
        scope_of("t", 7)


def test_someone_must_be_named() -> None:
    with pytest.raises(ScopeError, match="user_id or an agent_id"):
        scope_of("t", session_id="s")
    with pytest.raises(ScopeError, match="tenant"):
        scope_of(None, "u")
