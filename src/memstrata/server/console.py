"""The console: a page in the browser that calls the same verbs with the reader's own key. Built from `console/`.

What it is made of is handed out to everybody: it holds no memory, and reads nothing without a key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

BUILT: Final = Path(__file__).with_name("static")
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
FOR_GOOD: Final = "public, max-age=31536000, immutable"  # names of assets hold a digest of their content


class Console(StaticFiles):
    """The built page, under a content policy by which it can load and call nothing but this service."""

    def __init__(self) -> None:
        super().__init__(directory=BUILT, html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = POLICY
                headers["Cache-Control"] = FOR_GOOD if "/assets/" in scope["path"] else "no-cache"
            await send(message)

        await super().__call__(scope, receive, answer)


def add_console(app: FastAPI) -> None:
    """Serve the console under /console/, and send there who comes to the door."""

    async def door() -> Response:
        return RedirectResponse("/console/")

    app.add_api_route("/", door, methods=["GET"], include_in_schema=False)
    app.add_api_route("/console", door, methods=["GET"], include_in_schema=False)
    app.mount("/console", Console(), name="console")
