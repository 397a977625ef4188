"""Where the common MCP clients keep their servers, and how a block is put there beside what else is in the file."""

from __future__ import annotations

import difflib
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from memstrata.errors import InputError, MissingExtraError, ScopeError, StoreError

NAME = "memstrata"


@dataclass(frozen=True, slots=True)
class Client:
    """A client's file (from the home folder, or from the project's), and the key under which it lists servers."""

    place: str
    key: str = "mcpServers"
    in_project: bool = False
    typed: bool = False  # its blocks tell that they are of stdio

    @property
    def is_toml(self) -> bool:
        return self.place.endswith(".toml")


def _desktop() -> str:
    if sys.platform == "darwin":
        return "Library/Application Support/Claude/claude_desktop_config.json"
    if sys.platform == "win32":
        return "AppData/Roaming/Claude/claude_desktop_config.json"
    return ".config/Claude/claude_desktop_config.json"


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(_desktop()),
    "claude-code": Client(".mcp.json", in_project=True, typed=True),
    "cursor": Client(".cursor/mcp.json"),
    "vscode": Client(".vscode/mcp.json", key="servers", in_project=True, typed=True),
    "windsurf": Client(".codeium/windsurf/mcp_config.json"),
    "gemini": Client(".gemini/settings.json"),
    "codex": Client(".codex/config.toml", key="mcp_servers"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A client's file as it is (None: not there) and as it would be; `diff` is empty when nothing changes."""

    path: Path
    old: str | None
    new: str

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            (self.old or "").splitlines(), self.new.splitlines(), str(self.path), str(self.path), lineterm=""
        )
        return "\n".join(lines)


def block(store: str, *, user: str | None, agent: str | None, read_only: bool) -> dict[str, Any]:
    """What a client runs. A store's path is made absolute: a client starts it in a folder of its own."""
    if user is None and agent is None:
        raise ScopeError("name whose memory the client is given: --user NAME, or --agent NAME")
    is_address = "://" in store
    arguments = ["mcp", "--store", store if is_address else str(Path(store).resolve())]
    arguments += [] if user is None else ["--user", user]
    arguments += [] if agent is None else ["--agent", agent]
    arguments += ["--read-only"] if read_only else []
    command = shutil.which("memstrata") or str(Path(sys.executable).with_name("memstrata"))
    return {"command": command, "args": arguments}


def prepare(client: str, block: Mapping[str, Any], config: Path | None = None) -> Change:
    """The change of a client's file. Raises InputError for an unknown client, or a file that cannot be read as its."""
    if client not in CLIENTS:
        raise InputError(f"no such client: {client!r:.60} (one of {', '.join(CLIENTS)})")
    known = CLIENTS[client]
    path = config or (Path.cwd() if known.in_project else Path.home()) / known.place
    wanted = {"type": "stdio", **block} if known.typed else dict(block)
    shown = json.dumps({known.key: {NAME: wanted}}, ensure_ascii=False)
    try:
        old = path.read_text(encoding="utf-8") if path.exists() else None
        data = _read(known, old or "")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); put this into it by hand: {shown}") from error
    servers = data.get(known.key, {}) if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        raise InputError(f"{path} is of another shape than {client} writes; put this into it by hand: {shown}")
    if servers.get(NAME) == wanted:
        return Change(path, old, old or "")
    data.setdefault(known.key, {})[NAME] = wanted
    return Change(path, old, _written(known, data))


def _read(client: Client, text: str) -> Any:
    """What a client's file holds. Raises ValueError for what is not of its format."""
    if not client.is_toml:
        return json.loads(text) if text.strip() else {}
    return _tomlkit().parse(text)


def _written(client: Client, data: Any) -> str:
    """The text of a client's file; of TOML with its comments and its order."""
    if not client.is_toml:
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    text: str = _tomlkit().dumps(data)
    return text


def _tomlkit() -> ModuleType:
    try:
        import tomlkit
    except ImportError as error:
        raise MissingExtraError("a client whose file is TOML", "mcp") from error
    return tomlkit


def write(change: Change) -> Path | None:
    """Write a change in one step; returns where what was there before is kept."""
    path, backup = change.path, None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if change.old is not None:
            backup = _free(path)
            shutil.copy2(path, backup)
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(change.new, encoding="utf-8")
        if backup is not None:
            shutil.copymode(backup, partial)
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    return backup


def _free(path: Path) -> Path:
    """A name for a backup that is not taken."""
    n = 0
    while True:
        backup = path.with_name(f"{path.name}.backup{n or ''}")
        if not backup.exists():
            return backup
        n += 1
