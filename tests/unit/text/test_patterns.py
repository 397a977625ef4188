"""Patterns that are compiled at their first use."""

import gc
import importlib
import pkgutil
import re

import pytest

import memstrata
from memstrata.text.patterns import _Later, regex


@pytest.mark.parametrize("text", ["moved to Porto", "京都に引っ越した", "搬到了北京", ""])
def test_it_does_what_a_compiled_pattern_does(text: str) -> None:
    source = r"(?P<word>[A-Z]\w+|[一-龠]{2})"
    later, now = regex(source), re.compile(source)
    assert [match["word"] for match in later.finditer(text)] == [match["word"] for match in now.finditer(text)]
    assert later.sub("_", text) == now.sub("_", text)
    assert later.split(text) == now.split(text)
    assert (later.search(text) is None) == (now.search(text) is None)
    assert (later.pattern, later.groups) == (now.pattern, now.groups)


def test_flags_are_kept() -> None:
    assert regex("porto", re.IGNORECASE).fullmatch("PORTO")
    assert not regex("porto").fullmatch("PORTO")


def test_a_wrong_pattern_is_told_at_its_first_use() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("x")


def test_every_pattern_of_the_package_compiles() -> None:
    for module in pkgutil.walk_packages(memstrata.__path__, "memstrata."):
        if module.name.split(".")[1] in ("extract", "text", "intake", "index", "recall", "embed"):
            importlib.import_module(module.name)
    made = [each for each in gc.get_objects() if isinstance(each, _Later) and each._source != "("]
    assert len(made) > 200
    for each in made:
        re.compile(each._source, each._flags)
