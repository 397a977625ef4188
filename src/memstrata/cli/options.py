"""The options that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORE = "memory.db"

Store = Annotated[
    str, typer.Option("--store", "-s", envvar="MEMSTRATA_PATH", help="The store's file, or a postgresql:// address.")
]
User = Annotated[str | None, typer.Option("--user", "-u", envvar="MEMSTRATA_USER", help="Whose memory: the user.")]
# Where no user means everybody, or all of it goes: MEMSTRATA_USER does not count.
NamedUser = Annotated[str | None, typer.Option("--user", "-u", help="The user; MEMSTRATA_USER does not count here.")]
Agent = Annotated[str | None, typer.Option("--agent", "-a", help="Whose memory: the agent.")]
Session = Annotated[str | None, typer.Option("--session", help="The session it was said in.")]
Asking = Annotated[str | None, typer.Option("--session", help="The session that asks; its last turns are known.")]
At = Annotated[str | None, typer.Option("--at", help="When it was said, ISO 8601 with an offset.")]
Now = Annotated[str | None, typer.Option("--now", help="Stands in for the clock, ISO 8601 with an offset.")]
Zone = Annotated[str | None, typer.Option("--tz", help="Your time zone, such as Asia/Tokyo.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of tables.")]
Embedder = Annotated[
    str | None, typer.Option("--embedder", envvar="MEMSTRATA_EMBEDDER", help="minilm, multilingual, static, ...")
]
Filter = Annotated[str | None, typer.Option("--filter", help='A filter as JSON, such as {"kind": "plan"}.')]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only notes of this kind; may repeat.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may repeat.")]
OwnTags = Annotated[list[str] | None, typer.Option("--tag", help="A tag of the note; may repeat.")]
Superseded = Annotated[bool, typer.Option("--include-superseded", help="Also what no longer holds.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on after an earlier page.")]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: a repeated call gives the first receipt.")]
Metadata = Annotated[str | None, typer.Option("--metadata", help="Kept with it, as a JSON object; open to filters.")]
Role = Annotated[str, typer.Option("--role", help="Who said it: user, assistant, system or tool.")]
Name = Annotated[str | None, typer.Option("--name", help="The speaker's name.")]
File = Annotated[
    Path | None, typer.Option("--file", "-f", exists=True, dir_okay=False, help="Messages as JSON or JSON Lines.")
]
Item = Annotated[str, typer.Argument(help="The note's id.")]
