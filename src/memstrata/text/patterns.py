"""Regular expressions that are compiled at their first use: a program that never meets a text pays for none of them."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _Later:
    """Stands for a compiled pattern; from the first use on its methods are the pattern's own."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # asked only for what is not set yet
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, compiled when it is first used; for tables and modules with many patterns.

    An error in `source` shows at the first use only: every pattern needs a test that reaches it.
    """
    return cast("re.Pattern[str]", _Later(source, flags))
