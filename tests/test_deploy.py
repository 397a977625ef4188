"""What deploy/ says is what this version takes: manifests parse and fit their schemas, their commands are real ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from memstrata.cli.app import app
from memstrata.settings import PREFIX, Settings

DEPLOY = Path(__file__).parents[1] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OF_THE_COMMAND = {"MEMSTRATA_PATH", "MEMSTRATA_USER", "MEMSTRATA_TENANT", "MEMSTRATA_CONFIG"}


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8")))


def terraform() -> dict[str, Any]:
    return dict(hcl2.loads((DEPLOY / "terraform/main.tf").read_text("utf-8")))


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of a memstrata that deploy/ starts."""
    docker = (DEPLOY / "Dockerfile").read_text("utf-8")
    yield "Dockerfile", json.loads(re.findall(r"^CMD (\[.*\])$", docker, re.MULTILINE)[-1])
    for name, service in compose()["services"].items():
        if "command" in service:
            yield name, service["command"]
    for manifest in MANIFESTS:
        for item in yaml.safe_load_all(manifest.read_text("utf-8")):
            if item["kind"] == "Deployment":
                for container in item["spec"]["template"]["spec"]["containers"]:
                    if container["image"].startswith("memstrata"):
                        yield manifest.name, container["args"]
    text = (DEPLOY / "terraform/main.tf").read_text("utf-8")
    [listed] = re.findall(r"command = \[(.*?)\]", text, re.DOTALL)
    yield "main.tf", re.findall(r'"([^"]+)"', listed)


@pytest.mark.parametrize(("where", "arguments"), list(commands()), ids=lambda each: str(each)[:30])
def test_commands_are_taken(where: str, arguments: list[str]) -> None:
    name, *rest = arguments
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    context = command.make_context(name, list(rest), resilient_parsing=False)
    assert context.params.get("host", "0.0.0.0") == "0.0.0.0", where
    assert name == "serve" or context.params["all_tenants"], where


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.name)
def test_manifests_fit_kubernetes(manifest: Path) -> None:
    for item in yaml.safe_load_all(manifest.read_text("utf-8")):
        kubernetes_validate.validate(item, "1.29", strict=True)


def test_compose_has_what_it_names() -> None:
    said = compose()
    for service in said["services"].values():
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in said["volumes"]
        for other in service.get("depends_on", {}):
            assert other in said["services"]
    assert [name for name, service in said["services"].items() if "profiles" not in service] == ["memstrata"]
    profiles = {profile for service in said["services"].values() for profile in service.get("profiles", [])}
    assert profiles == {"postgres", "redis", "worker"}


def test_terraform_names_only_variables_that_it_has() -> None:
    text = (DEPLOY / "terraform/main.tf").read_text("utf-8")
    known = re.findall(r'^variable "(\w+)"', (DEPLOY / "terraform/variables.tf").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"\bvar\.(\w+)", text)) == set(known)
    assert {"resource", "provider", "terraform"} <= set(terraform())


def test_variables_are_settings() -> None:
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields} | OF_THE_COMMAND
    for path in DEPLOY.rglob("*"):
        if path.is_file() and path.suffix != ".md":
            found = set(re.findall(r"\bMEMSTRATA_[A-Z_]+", path.read_text("utf-8"))) - {"MEMSTRATA_DB_PASSWORD"}
            assert found <= known, path.name
