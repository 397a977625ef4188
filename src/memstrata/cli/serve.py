"""The commands of the service: serve, and its API keys."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli import read
from memstrata.cli.common import emit, stderr
from memstrata.cli.options import DEFAULT_STORE, Embedder, Json, Store
from memstrata.cli.parts import records
from memstrata.errors import InputError, MissingExtraError, SettingsError
from memstrata.store.addresses import access_beside

if TYPE_CHECKING:
    from memstrata.server.keys import AccessFile

AccessPath = Annotated[
    Path | None, typer.Option("--access", help="The file of keys and the audit log; beside the store by default.")
]
Tenant = Annotated[str, typer.Option("--tenant", envvar="MEMSTRATA_TENANT", help="Whose: the tenant.")]
KeyId = Annotated[str, typer.Argument(help="The key's id: what stands between the first two _.")]


def serve(
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8321,
    auth: Annotated[bool, typer.Option(help="Whether callers need a key; without, only this machine may call.")] = True,
    oidc_issuer: Annotated[str | None, typer.Option(help="Take JWTs of this issuer, beside keys.")] = None,
    oidc_audience: Annotated[str | None, typer.Option(help="The audience that its tokens must name.")] = None,
    oidc_jwks: Annotated[str | None, typer.Option(help="Its keys: a file, or an https address.")] = None,
    oidc_tenant_claim: Annotated[str, typer.Option(help="The claim that is the tenant.")] = "tenant",
    oidc_user_claim: Annotated[str | None, typer.Option(help="The claim that is the only user.")] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that answer: one a core is the most.")] = 1,
    body_bytes: Annotated[int, typer.Option(min=1024, help="Most bytes of a request.")] = 4 * 2**20,
    import_bytes: Annotated[int, typer.Option(min=1024, help="Most bytes of an import.")] = 256 * 2**20,
    requests_a_minute: Annotated[int, typer.Option(min=1, help="Requests a minute of one caller.")] = 6000,
    upkeep: Annotated[float, typer.Option(min=1, help="Seconds between the upkeep of all tenants.")] = 300.0,
    audit_days: Annotated[
        float | None, typer.Option(min=0, help="Days that the audit log is kept; all, if none.")
    ] = None,
    hsts: Annotated[bool, typer.Option(help="Tell browsers to come by HTTPS only; for a service behind TLS.")] = False,
    metrics_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Figures for Prometheus there.")] = None,
    metrics_host: Annotated[str, typer.Option(help="The address of that port.")] = "127.0.0.1",
    embedder: Embedder = None,
) -> None:
    """Serve the memory over HTTP; the first start prints a key once."""
    try:
        from memstrata.server import fleet, run
        from memstrata.server.app import Limits
        from memstrata.server.oidc import Provider
    except ImportError as error:
        raise MissingExtraError("the service", "server") from error

    run.log_to_stderr()
    provider = None
    if oidc_issuer is not None or oidc_audience is not None or oidc_jwks is not None:
        if oidc_issuer is None or oidc_audience is None or oidc_jwks is None:
            raise SettingsError("tokens need all of --oidc-issuer, --oidc-audience and --oidc-jwks")
        provider = Provider(oidc_issuer, oidc_audience, oidc_jwks, oidc_tenant_claim, oidc_user_claim)
    options = run.Options(
        store,
        access,
        host,
        port,
        auth=auth,
        provider=provider,
        limits=Limits(body_bytes, import_bytes, requests_a_minute),
        upkeep_seconds=upkeep,
        audit_days=audit_days,
        hsts=hsts,
        metrics_host=metrics_host,
        metrics_port=metrics_port,
        settings={} if embedder is None else {"embedder": embedder},
    )
    app = None
    if processes == 1:
        app = run.build(options)
    else:
        fleet.prepare(options)
    first = run.first_key(options)
    sock = run.listen(host, port)
    name, number = sock.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    if first is not None:
        told = f"The first key, with all rights; it is shown only now:\n{first}"
        stderr().print(told, highlight=False, soft_wrap=True)
    print(f"memstrata serves {store} on http://{shown}:{number}", flush=True)
    if app is not None:
        run.serve(app, [sock])
        return
    if not fleet.serve_in(processes, options, sock):
        raise typer.Exit(1)


def _file(store: str, access: Path | None) -> AccessFile:
    from memstrata.server.keys import AccessFile

    return AccessFile(access_beside(store) if access is None else access)


def create(
    right: Annotated[list[str], typer.Option("--right", help="read, write, erase or admin; may repeat.")] = ["read"],  # noqa: B006
    tenant: Tenant = "default",
    user: Annotated[str | None, typer.Option("--user", "-u", help="The only user it may name.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="The only agent it may name.")] = None,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[float | None, typer.Option(min=0, help="How long it holds; for good when not given.")] = None,
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    json: Json = False,
) -> None:
    """Make a key; it is shown only now."""
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    text, key = _file(store, access).create(tenant, right, user=user, agent=agent, name=name, expires_at=until)
    emit({"key": text, "id": key.id, "tenant": key.tenant, "rights": list(key.rights)}, json)


def list_(
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    json: Json = False,
) -> None:
    """Show what is known of the keys; the keys themselves are nowhere."""
    keys = _file(store, access).keys(tenant)
    emit(keys, json, records)


def rotate(
    id: KeyId,
    grace: Annotated[float, typer.Option(min=0, help="Hours for which the old one still holds.")] = 0.0,
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    json: Json = False,
) -> None:
    """Make a new key like an old one, which then no longer holds."""
    text, key = _file(store, access).rotate(id, grace_seconds=3600 * grace)
    emit({"key": text, "id": key.id, "tenant": key.tenant, "rights": list(key.rights)}, json)


def revoke(id: KeyId, store: Store = DEFAULT_STORE, access: AccessPath = None, json: Json = False) -> None:
    """Refuse a key from now on."""
    emit([_file(store, access).revoke(id)], json, records)


def rules(
    tenant: Annotated[str, typer.Argument(help="The tenant.")],
    settings: Annotated[
        str | None, typer.Option("--settings", help='Its own settings as JSON, such as {"policy": "strict"}.')
    ] = None,
    requests_a_minute: Annotated[int | None, typer.Option(min=1, help="Requests a minute of all its callers.")] = None,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Turns that it may keep.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take back what was set.")] = False,
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    json: Json = False,
) -> None:
    """Show what is set for a tenant; with options, set it: settings of its own, and quotas."""
    from memstrata.server.keys import Rules

    file = _file(store, access)
    old = Rules() if clear else file.rules_of(tenant)
    own = read.object_from(settings, "--settings")
    new = Rules(
        old.settings if own is None else own,
        old.requests_a_minute if requests_a_minute is None else requests_a_minute,
        old.max_turns if max_turns is None else max_turns,
    )
    emit(asdict(file.set_rules(tenant, new) if clear or new != old else old), json)


def audit(
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Only what was about this user.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only what was about this agent.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 100,
    store: Store = DEFAULT_STORE,
    access: AccessPath = None,
    json: Json = False,
) -> None:
    """Show who read, wrote and erased. It holds no memory text, and names only as keyed hashes."""
    if user is not None and agent is not None:
        raise InputError("audit takes --user or --agent: whose memory it was about")
    owner = f"u:{user}" if user is not None else None if agent is None else f"a:{agent}"
    emit(_file(store, access).audit(tenant=tenant, owner=owner, limit=limit), json, records)
