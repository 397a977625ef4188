"""The console in a real browser: every section, three languages, keyboard, dark mode, a phone; hostile memory; axe."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright
from tests.server.conftest import Serving

from memstrata.server.console import BUILT

ROOT = Path(__file__).parents[2]
SECTIONS = ("overview", "recall", "notes", "sessions", "pages", "decisions", "costs", "jobs", "erase")
HOSTILE = "My dog is called <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> Rex."
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def test_the_built_page_is_that_of_the_sources() -> None:
    source, digest = ROOT / "console", hashlib.sha256()
    files = [each.relative_to(source).as_posix() for each in (source / "src").rglob("*") if each.is_file()]
    for name in sorted([*files, "index.html", "package.json", "vite.config.ts"]):
        digest.update(f"{name}\0".encode() + (source / name).read_bytes() + b"\0")
    assert (BUILT / "sources.sha256").read_text().strip() == digest.hexdigest(), "run npm run build in console/"


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        assert "CI" not in os.environ, "the console is tested in Chromium: apt-get install chromium"
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.chromium.launch(executable_path=path, args=FLAGS) as started:
        yield started


@pytest.fixture(scope="module")
def told(serving: Serving) -> Serving:
    """A service with the memory of somebody: sessions, pages, notes in three languages, something superseded."""
    client = serving.client(serving.key("console"))
    said = {
        "en": [
            "I adopted a cat named Miso.",
            HOSTILE,
            "I work at Globex as an engineer.",
            "My sister Rosa is a nurse.",
        ],
        "ja": ["私は京都に住んでいます。", "犬のポチが好きです。", "来月、大阪へ引っ越す予定です。", "兄は医者です。"],
        "zh": ["我住在上海。", "我喜欢喝绿茶。", "我在银行工作。", "我妹妹叫小丽。"],
    }
    for session, texts in said.items():
        messages = [{"role": "user", "content": text} for text in texts]
        client.post("/v1/turns", json={"messages": messages, "user_id": "ana", "session_id": session})
        client.post("/v1/sessions/end", json={"user_id": "ana", "session_id": session})
    for text in ("I live in Porto.", "I live in Lyon now.", HOSTILE):
        client.post("/v1/remember", json={"text": text, "user_id": "ana"})
    client.post("/v1/flush", json={})
    client.post("/v1/distil", json={"user_id": "ana"})
    client.post("/v1/flush", json={})
    client.post("/v1/remember", json={"text": "I live in Rome.", "user_id": "gone"})
    return serving


@pytest.fixture
def enter(browser: Browser, told: Serving) -> Iterator[Callable[..., Page]]:
    """Opens the console, signed in and about somebody; whatever the page complains of fails the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_console(user: str = "ana", **device: Any) -> Page:
        context = browser.new_context(**{"locale": "en-GB", "viewport": {"width": 1280, "height": 900}, **device})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(told.url) else faults.append(asked.url))
        page.goto(f"{told.url}/")
        page.fill("#key", told.key("console"))
        page.press("#key", "Enter")
        page.wait_for_selector("nav")
        page.fill("header input >> nth=0", user)
        page.press("header input >> nth=0", "Enter")
        return page

    yield open_console
    for context in contexts:
        context.close()
    assert faults == []


def visit(page: Page, section: str) -> None:
    page.evaluate(f"location.hash = '/{section}'")
    page.wait_for_selector(f"nav a[aria-current=page][href='#/{section}']")
    page.wait_for_selector("main .loading", state="detached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_section_is_clean_to_axe(enter: Callable[..., Page], scheme: str) -> None:
    page = enter(color_scheme=scheme)
    for section in SECTIONS:
        visit(page, section)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{section}: {found.generate_report()}"


def test_recall_tells_why_and_opens_the_note(enter: Callable[..., Page]) -> None:
    page = enter()
    visit(page, "recall")
    page.fill("#query", "Where do I live?")
    page.press("#query", "Enter")
    page.wait_for_selector(".hits .bar")
    assert "Lyon" in page.inner_text(".hits")
    page.locator(".hits button.quiet").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] h3")
    page.wait_for_selector("dialog .signals .bar")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.locator("dialog figure .line-path").count() == 1  # its weight, to the day on which it is forgotten
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_memory_is_shown_and_never_run(enter: Callable[..., Page]) -> None:
    page = enter()
    visit(page, "notes")
    page.click("text=List")
    page.wait_for_selector("td >> text=onerror")
    page.locator("td button.link", has_text="onerror").first.click()
    page.wait_for_selector("dialog .said >> text=onerror")
    page.keyboard.press("Escape")
    visit(page, "sessions")
    page.click("td button.link >> text=en")
    page.wait_for_selector(".turn .said >> text=onerror")
    assert "owned" not in page.title()


def test_the_graph_settles_and_a_note_opens(enter: Callable[..., Page]) -> None:
    page = enter()
    visit(page, "notes")
    page.wait_for_selector("canvas[data-settled=true]")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    for x in range(10, int(box["width"]), 6):  # somewhere on this line a note lies under the pointer
        page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
        if page.locator(".hovered").count():
            break
    page.mouse.click(box["x"] + x, box["y"] + box["height"] / 2)
    page.wait_for_selector("dialog[open] .said")


def test_a_word_on_a_decision_reaches_the_gate(enter: Callable[..., Page], told: Serving) -> None:
    page = enter()
    visit(page, "decisions")
    page.locator("button >> text=Accept").first.click()
    page.wait_for_selector("[role=status] >> text=The gate learns from it")
    labelled = told.client(told.key("console")).get("/v1/decisions/labelled", params={"user_id": "ana"}).json()
    assert [each["label"] for each in labelled] == [1]


def test_the_work_that_waits_is_told_as_it_changes(enter: Callable[..., Page], told: Serving) -> None:
    page = enter("waits")
    page.click("nav >> text=Jobs")
    page.wait_for_selector("h2:has-text('Queued 0')")
    row = ("console", "u:waits", 1, "page", "", "{}", "op", "queued", 0, 2**52, None)
    with closing(sqlite3.connect(told.store, isolation_level=None)) as db:  # as another process would
        db.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        page.wait_for_selector("h2:has-text('Queued 1')")
        page.wait_for_selector("td:has-text('page')")
        db.execute("DELETE FROM jobs WHERE owner = 'u:waits'")
    page.wait_for_selector("h2:has-text('Queued 0')")


def test_erasing_asks_for_the_name_and_shows_the_receipt(enter: Callable[..., Page], told: Serving) -> None:
    page = enter("gone")
    visit(page, "erase")
    page.click("main button.danger")
    page.wait_for_selector("dialog[open]")
    assert page.is_disabled("dialog button.danger")
    page.fill("#confirm", "gone")
    page.click("dialog button.danger")
    page.wait_for_selector("main table")
    assert "turns" in page.inner_text("main table")
    assert told.client(told.key("console")).get("/v1/notes", params={"user_id": "gone"}).json()["notes"] == []


@pytest.mark.parametrize(("locale", "word"), [("ja-JP", "想起"), ("zh-CN", "回忆"), ("de-DE", "Recall")])
def test_it_speaks_the_readers_language(enter: Callable[..., Page], locale: str, word: str) -> None:
    page = enter(locale=locale)
    assert word in page.inner_text("nav")


def test_it_fits_a_phone(enter: Callable[..., Page]) -> None:
    page = enter(viewport={"width": 360, "height": 740})
    for section in SECTIONS:
        visit(page, section)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), section


def test_a_wrong_key_opens_nothing(browser: Browser, told: Serving) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{told.url}/console/")
        page.fill("#key", "ms_nobody_nothing")
        page.press("#key", "Enter")
        page.wait_for_selector("[role=alert]")
        assert page.locator("nav").count() == 0
