"""Passwords that someone says: "password: hunter2", "my password is ...", パスワードは…, 密码是….

The label alone proves nothing ("the password reset page", "my password is wrong"), so the value decides: one with a
digit or a symbol is taken; a plain word only where it ends its clause and is no word that people say of passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.patterns import regex

PASSWORD_CUES = (
    *("pass", "pwd", "pin", "contrase", "kennwort", "wachtwoord", "senha", "пароль"),
    *("パスワ", "パスコ", "暗証", "密码", "密碼", "口令", "비밀번호"),
)
# Plain words that describe a password or its field instead of being one.
_DESCRIPTIONS = """
wrong right incorrect correct weak strong secure insecure safe unsafe long short gone lost broken invalid valid
missing empty blank none null true false unknown private public secret important different same good better bad
fine okay hard easy simple complex unique mine yours theirs here there below above somewhere always never still
also just only very really quite something anything nothing everything ours text string password username email
optional mandatory random default stolen known hidden forgotten written taken given shown what which when where
why ready stale sensitive current please thanks today tomorrow yesterday soon again now this that these those
with from your their about because case
"""
_SAID_OF_PASSWORDS = frozenset(_DESCRIPTIONS.split())
_DESCRIPTIVE_ENDING = regex(r"(?:ed|ing|able|ible|ly|n't)\Z")
_MASK = regex(r"[*•.xX_-]+|[0-9]{1,3}%|[$%]?\{+\w+\}+|\(.*")
_STRONG_SYMBOL = regex(r"[0-9@#$%^&*_+=~|\\<>]|!.")
_COUNTED = regex(
    r"\s*(?:or more |random )?"
    r"(?:char|digit|letter|symbol|word|day|week|time|attempt|minute|hour|month|year|[年月日時时位桁文個个])",
    re.I,
)
_CLAUSE_END = regex(
    r"\s*(?:\Z|[\n,;.!&。、，；！」』)\"'`]|です|でした|だ|に|了|吧|(?:and|but|so|now|for|on|if)\b|입니다|이에요)", re.I
)
_VALUE = (
    r"(?:\\?\"(?P<double>[^\"\n\\]{1,128})\\?\"|'(?P<single>[^'\n]{1,128})'|`(?P<tick>[^`\n]{1,128})`"
    r"|[“「『](?P<bracket>[^”」』\n]{1,128})[”」』]|(?P<bare>[!-~\u00a1-\u024f\u0370-\u052f]{4,128}))"
)
_WORD = r"pass[ _-]?(?:word|code|phrase)|passwd|contraseña|passwort|kennwort|mot de passe|wachtwoord|senha|пароль"
_SHORT_WORD = r"(?<![A-Za-z])(?:pass|pwd|pw)"
_LABELLED = regex(
    rf"(?:{_WORD}|{_SHORT_WORD}(?=[\"'`*\\\s]{{0,4}}[:=]))(?:s\b)?[\"'`*\\]{{0,4}}"
    r"(?:\s+(?:for|of|to|on|at)\s+[^.,;:!?\n=]{1,40}?)?"
    r"(?P<is>\s*(?::=|=>|[:=])\s*|\s+(?:is|was|es|ist|est|é)\s+(?:now\s+|still\s+|:\s*)?|\s*[はが]\s*|\s+(?:to|as)\s+)"
    + _VALUE,
    re.I,
)  # fmt: skip
_ADJACENT = regex(rf"(?:{_WORD})\s+[\"'`]?(?P<bare>(?=[!-~]{{0,64}}[0-9])(?=[!-~]{{0,64}}[a-z])[!-~]{{6,64}})")
_CJK = regex(
    r"(?:パスワード|パスコード|暗証番号|密码|密碼|口令|비밀번호)(?P<is>[^!-~\n。！？「『“]{0,8}[:=\s]{0,3})" + _VALUE
)
_PIN = regex(r"\bpin(?:\s+number)?\s*(?:is|:|=|は)\s*([0-9]{4,8})\b|\bpin code\s*(?:is|:|=|は)\s*([0-9]{4})\b", re.I)
_TRAILING = ".,;:?)]}'\"`。、，；」』"


def find_passwords(text: str) -> Iterator[tuple[int, int, str]]:
    """The spans of labelled passwords, passcodes and PINs."""
    lowered = text.lower()
    if not any(cue in lowered for cue in PASSWORD_CUES):
        return
    for pattern in (_LABELLED, _CJK):
        for match in pattern.finditer(text):
            span = _accepted(text, match)
            if span is not None:
                yield *span, "password"
    for match in _ADJACENT.finditer(text):
        start, end = match.span("bare")
        yield start, start + len(text[start:end].rstrip(_TRAILING)), "password"
    for match in _PIN.finditer(text):
        yield *match.span(match.lastindex or 0), "password"


def _accepted(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """The span of the value, when it is one."""
    quoted = next((name for name in ("double", "single", "tick", "bracket") if match[name] is not None), None)
    start, end = match.span(quoted or "bare")
    value = text[start:end]
    if quoted is None:
        if "=" in match["is"] and "&" in value:  # a query string goes on after the value
            value = value.split("&")[0]
        value = value.rstrip(_TRAILING)
        end = start + len(value)
    if not value.strip() or _MASK.fullmatch(value):
        return None
    if _STRONG_SYMBOL.search(value):
        is_count = value[0].isdigit() and _COUNTED.match(text, end) is not None
        return None if is_count else (start, end)
    if match["is"].strip() in ("to", "as", ""):
        return None
    if value.casefold() in _SAID_OF_PASSWORDS or _DESCRIPTIVE_ENDING.search(value.casefold()):
        return None
    if quoted is not None:
        return start, end
    return (start, end) if len(value) >= 4 and _CLAUSE_END.match(text, end) else None
