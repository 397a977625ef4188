"""What the documents say is run: their Python, the examples, and the pages made from the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.chat_server import chat_server

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "docs/recipes.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "llms.txt", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SHELL = re.compile(r"```sh\n(export MEMSTRATA.*?)```", re.DOTALL)
COMMAND = re.compile(r"`(?:memstrata )?([a-z-]+)`")


def run(code: str, folder: Path, **variables: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")}
    env |= {"PATH": path, **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each != RECIPES], ids=lambda path: path.name)
def test_python_blocks_run_in_order(document: Path, tmp_path: Path) -> None:
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        run(block, tmp_path)


@pytest.mark.parametrize("block", BLOCK.findall(RECIPES.read_text(encoding="utf-8")))
def test_recipes_put_memory_before_a_model(block: str, tmp_path: Path) -> None:
    """With the providers' own clients, whose endpoint is a server here."""
    with chat_server() as server:
        server.answer = lambda body: "No peanuts [1]."
        urls = {"OPENAI_BASE_URL": server.url, "LOCAL_MODEL_URL": server.url}
        urls |= {"ANTHROPIC_BASE_URL": server.root}
        said = run(block, tmp_path, **urls, OPENAI_API_KEY="none", ANTHROPIC_API_KEY="none")
    assert said.splitlines()[-1] == "No peanuts [1]."
    assert len(server.requests) == 1
    assert "I am allergic to peanuts." in str(server.requests[0])
    if "citations" in block:
        assert said.startswith("[1] stands on ['I am allergic to peanuts.']")


def test_the_quickstart_prints_what_the_readme_shows(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    assert run(BLOCK.findall(text)[0], tmp_path) == shown


def test_shell_blocks_run(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")} | {"PATH": path}
    blocks = SHELL.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", block],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "Lyon" in done.stdout
        assert "choir" in done.stdout


def test_every_folder_is_named_where_things_lie() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for folder in (ROOT / "src/memstrata").iterdir():
        if (folder / "__init__.py").exists():
            assert f"{folder.name}/" in text, folder.name


def test_pages_made_from_the_code_are_up_to_date() -> None:
    made = subprocess.run([sys.executable, ROOT / "tools/make_docs.py", "--check"], check=False)
    assert made.returncode == 0, "run tools/make_docs.py"


def test_the_readme_names_every_command() -> None:
    from memstrata.cli.app import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(COMMAND.findall(text))
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert name in named, name


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    assert run(example.read_text(encoding="utf-8"), tmp_path).strip()


def test_the_site_builds(tmp_path: Path) -> None:
    """Strictly: a page that is not in the navigation, or a link that leads nowhere, fails."""
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    built = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{page}.html"' in built for page in pages - {"index"})
    assert "https://fonts" not in built


def test_links_between_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"
