"""MemoryOS: the folder it keeps, users/ID/*.json and assistants/ID/*.json, or the folder of one user.

Questions and answers become turns of sessions, knowledge and profile lines become statements. Knowledge of an
assistant, which MemoryOS shares among all users, becomes memory of that agent and of no user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memstrata.errors import InputError
from memstrata.moving.found import Found, Place, Said, Statement, read_json, text_of

LOOKED_FOR: Final = "short_term.json, mid_term.json, long_term_user.json (in users/ID), long_term_assistant.json"
_BULLET: Final = re.compile(r"^\s*(?:[-*•]+|\d+[.)])\s*")
_HEADING: Final = re.compile(r"^\s*(?:#+ .*|【.*】.*|-{3,}.*|[^:：]{1,40}[:：])\s*$")
_NOTHING: Final = ("", "none", "none.", "n/a")


def read_memoryos(path: Path) -> Found:
    """Everything of every user and assistant in the folder."""
    if not path.is_dir():
        raise InputError(f"{path} is no folder; looked for {LOOKED_FOR}")
    found = Found()
    users = _folders(path / "users") or ([path] if (path / "mid_term.json").exists() else [])
    for folder in users:
        place = Place(user=folder.name)
        _short_term(folder / "short_term.json", place, found)
        _mid_term(folder / "mid_term.json", place, found)
        _long_term(folder / "long_term_user.json", place, found)
    for folder in _folders(path / "assistants"):
        _long_term(folder / "long_term_assistant.json", Place(agent=folder.name), found)
    return found.check(path, LOOKED_FOR)


def _folders(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


def _content(path: Path, found: Found, kind: type) -> Any:
    """The JSON of a file that may be missing. MemoryOS overwrites what it cannot read; here it is listed."""
    if not path.exists():
        return kind()
    try:
        content = read_json(path)
    except InputError as error:
        found.skip(str(path), str(error))
        return kind()
    if not isinstance(content, kind):
        found.skip(str(path), f"a {kind.__name__} is expected")
        return kind()
    return content


def _short_term(path: Path, place: Place, found: Found) -> None:
    here = Place(place.user, None, "short_term")
    for n, pair in enumerate(_content(path, found, list)):
        _pair(f"{path}: pair {n + 1}", None, pair, here, found)


def _mid_term(path: Path, place: Place, found: Found) -> None:
    sessions = _content(path, found, dict).get("sessions", {})
    for session_id, session in sessions.items() if isinstance(sessions, Mapping) else ():
        details = session.get("details") if isinstance(session, Mapping) else None
        if not isinstance(details, list):
            found.skip(f"{path}: session {session_id}", "no details")
            continue
        here = Place(place.user, None, str(session_id))
        for n, page in enumerate(details):
            page_id = page.get("page_id") if isinstance(page, Mapping) else None
            _pair(f"{path}: session {session_id}, page {n + 1}", text_of(page_id), page, here, found)


def _pair(where: str, pair_id: str | None, pair: Any, place: Place, found: Found) -> None:
    """A question and its answer, as two messages."""
    if not isinstance(pair, Mapping):
        found.skip(where, "no object")
        return
    at = text_of(pair.get("timestamp"))
    said = [
        (role, text)
        for role, name in (("user", "user_input"), ("assistant", "agent_response"))
        if (text := text_of(pair.get(name)))
    ]
    if not said:
        found.skip(where, "neither user_input nor agent_response")
    if pair_id is None:  # the same for the same pair, wherever it has moved in its list
        pair_id = hashlib.blake2b(f"{at}\0{said}".encode(), digest_size=8).hexdigest()
    found.messages.extend(Said(f"{pair_id}-{role}", role, text, place, at) for role, text in said)


def _long_term(path: Path, place: Place, found: Found) -> None:
    content = _content(path, found, dict)
    profiles = content.get("user_profiles", {})
    for user, profile in profiles.items() if isinstance(profiles, Mapping) else ():
        text = text_of(profile.get("data")) if isinstance(profile, Mapping) else None
        if text is not None:
            at = text_of(profile.get("last_updated"))
            _statements(f"profile-{user}", text, place, at, "profile", found)
    for name in ("knowledge_base", "assistant_knowledge"):
        entries = content.get(name, [])
        for n, entry in enumerate(entries if isinstance(entries, list) else []):
            text = text_of(entry.get("knowledge")) if isinstance(entry, Mapping) else None
            if text is None:
                found.skip(f"{path}: {name} {n + 1}", "no knowledge")
                continue
            _statements(f"{name}-{n}", text, place, text_of(entry.get("timestamp")), "knowledge", found)


def _statements(source_id: str, text: str, place: Place, at: str | None, tag: str, found: Found) -> None:
    """The lines of a text that its model wrote, without bullets and headings."""
    for n, line in enumerate(text.splitlines()):
        words = _BULLET.sub("", line).strip()
        if words.lower() in _NOTHING or _HEADING.match(line):
            continue
        found.statements.append(Statement(f"{source_id}-{n}", words, place, at, (tag,)))
