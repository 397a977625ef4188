"""Who may do what: keys and their rights, keys of one user, JWTs, rates and quotas, the audit log."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from memstrata.errors import InputError, NotFoundError, SettingsError, StoreFormatError
from memstrata.server import tenants
from memstrata.server.app import Limits
from memstrata.server.keys import AccessFile, Rules
from memstrata.server.oidc import Provider
from memstrata.server.verbs import EXPORT, IMPORT, VERBS, Verb

from .conftest import Serving

ISSUER, AUDIENCE = "https://login.example", "memstrata"
ALL = (*VERBS, EXPORT, IMPORT)


# rights ---------------------------------------------------------------------------------------------------------------


def asked(service: Serving, key: str | None, verb: Verb, **arguments: Any) -> int:
    """The status of a call with these arguments, and what else the verb must have."""
    path = verb.path.replace("{note_id}", "n_x").replace("{id}", "d_x").replace("{operation}", "op_x")
    required = {
        "messages": "x",
        "text": "x",
        "query": "x",
        "question": "x",
        "accept": True,
        "policy": "strict",
    }
    parameters = verb.signature.parameters
    given = {name: value for name, value in required.items() if name in parameters}
    given |= {name: value for name, value in arguments.items() if name in parameters}
    client = service.client(key)
    if verb is EXPORT or verb is IMPORT:
        return client.request(verb.method, path, params=given, content=b"").status_code
    return client.request(verb.method, path, **{"params" if verb.in_query else "json": given}).status_code


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_every_verb_needs_a_key_with_its_right(serving: Serving, verb: Verb) -> None:
    assert asked(serving, None, verb, user_id="u") == 401
    assert asked(serving, "ms_000000000000_wrong", verb, user_id="u") == 401
    others = {"read", "write", "erase", "admin"} - {verb.right}
    assert asked(serving, serving.key("rights", *others), verb, user_id="u") == 403
    assert asked(serving, serving.key("rights", verb.right), verb, user_id="u") not in (401, 403, 500)


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)
def test_a_key_of_one_user_reaches_no_other(serving: Serving, verb: Verb) -> None:
    key = serving.key("bound", user="ana")
    of_tenant = not {"user_id"} & verb.signature.parameters.keys()
    assert asked(serving, key, verb) not in ((401, 500) if of_tenant else (401, 403, 500))
    if of_tenant:
        assert asked(serving, key, verb) == 403
    else:
        assert asked(serving, key, verb, user_id="bob") == 403
        assert asked(serving, key, verb, user_id="Ana") == 403


def test_a_key_of_one_user_fills_the_user_in(serving: Serving) -> None:
    ana = serving.client(serving.key("filled", user="ana", agent="helper"))
    assert ana.post("/v1/remember", json={"text": "我对花生过敏。"}).status_code == 201
    assert len(ana.get("/v1/notes").json()["notes"]) == 1
    whole = serving.client(serving.key("filled"))
    assert [note["agent"] for note in whole.get("/v1/notes", params={"user_id": "ana"}).json()["notes"]] == ["helper"]
    assert whole.get("/v1/notes", params={"user_id": "ana", "agent_id": "other"}).json()["notes"] == []
    told = ana.get("/v1/whoami").json()
    assert (told["tenant"], told["user"], told["agent"]) == ("filled", "ana", "helper")


def test_purging_needs_the_right_to_erase(serving: Serving) -> None:
    client = serving.client(serving.key("purge", "read", "write"))
    note = client.post("/v1/remember", json={"text": "I have a cat.", "user_id": "u"}).json()["candidates"][0]["note"]
    body = {"note_id": note, "user_id": "u", "hard": True}
    assert client.post("/v1/forget", json=body).status_code == 403
    assert client.post("/v1/forget", json={**body, "hard": False}).status_code == 200


def test_what_is_about_a_whole_tenant_needs_admin(serving: Serving) -> None:
    reader, admin = (serving.client(serving.key("whole", right)) for right in ("read", "admin"))
    assert (reader.get("/v1/owners").status_code, admin.get("/v1/owners").status_code) == (403, 200)
    for path in ("/v1/stats", "/v1/cost", "/v1/jobs"):
        assert reader.get(path).status_code == 403
        assert admin.get(path).status_code == 403  # it has no right to read
    both = serving.client(serving.key("whole", "read", "admin"))
    assert {both.get(path).status_code for path in ("/v1/stats", "/v1/cost", "/v1/jobs", "/v1/owners")} == {200}


# keys -----------------------------------------------------------------------------------------------------------------


def test_keys_expire_and_near_misses_are_refused(tmp_path: Path) -> None:
    keys = AccessFile(tmp_path / "keys")
    text, key = keys.create("t", ["read"])
    assert keys.check(text) == key
    stem, secret = text.rsplit("_", 1) if text.count("_") == 2 else (text[:16], text[16:])
    wrong = ["", "ms", "ms_", f"{text} ", text[:-1], text.upper(), text.replace(key.id, "%"), f"{stem}_", secret]
    assert [keys.check(each) for each in wrong] == [None] * len(wrong)
    past = keys.create("t", ["read"], expires_at=datetime.now(UTC) - timedelta(seconds=1))[0]
    assert keys.check(past) is None
    with pytest.raises(NotFoundError):
        keys.revoke("%")
    for rights in ([], ["root"], ["read", ""]):
        with pytest.raises(InputError):
            keys.create("t", rights)
    with pytest.raises(InputError):
        keys.create("a\x00b", ["read"])
    keys.close()
    assert secret.encode() not in (tmp_path / "keys").read_bytes()
    assert (tmp_path / "keys").stat().st_mode & 0o077 == 0


def test_a_rotated_key_may_hold_a_while(tmp_path: Path) -> None:
    keys = AccessFile(tmp_path / "keys")
    old, key = keys.create("t", ["read", "write"], user="ana")
    new, made = keys.rotate(key.id, grace_seconds=60)
    assert keys.check(old) is not None
    assert keys.check(new) == made
    assert (made.tenant, made.rights, made.user) == (key.tenant, key.rights, "ana")
    keys.close()


def test_another_file_is_not_taken_for_keys(tmp_path: Path, serving: Serving) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be one" * 100)
    with pytest.raises(StoreFormatError):
        AccessFile(tmp_path / "text")
    store = serving.app.tenants._root._engine.store.path  # type: ignore[attr-defined]
    with pytest.raises(StoreFormatError):
        AccessFile(store)


# tokens ---------------------------------------------------------------------------------------------------------------

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ED_KEY = ed25519.Ed25519PrivateKey.generate()
OTHER_KEY = ed25519.Ed25519PrivateKey.generate()


def jwks() -> str:
    one = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY.public_key()))
    two = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(ED_KEY.public_key()))
    return json.dumps({"keys": [{**one, "kid": "one", "use": "sig"}, {**two, "kid": "two", "use": "sig"}]})


def token(key: Any = ED_KEY, kid: str | None = "two", algorithm: str = "EdDSA", **claims: Any) -> str:
    now = int(time.time())
    told = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "someone",
        "exp": now + 60,
        "tenant": "acme",
        "scope": "memstrata:read memstrata:write other:admin",
        **claims,
    }
    told = {name: value for name, value in told.items() if value is not None}
    return jwt.encode(told, key, algorithm=algorithm, headers=None if kid is None else {"kid": kid})


def forged(secret: bytes) -> str:
    """A token signed with what everybody knows, as if it were a shared secret."""
    head, claims, _ = token(RSA_KEY, "one", "RS256", uid="a").split(".")
    head = base64.urlsafe_b64encode(b'{"alg": "HS256", "kid": "one"}').decode().rstrip("=")
    signature = hmac.digest(secret, f"{head}.{claims}".encode(), "sha256")
    return f"{head}.{claims}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_a_token_is_a_tenant_and_its_scopes_are_rights(serve: Callable[..., Serving], tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_text(jwks())
    service = serve(provider=Provider(ISSUER, AUDIENCE, str(tmp_path / "jwks.json"), user_claim="uid"))
    for good in (token(uid="アナ"), token(RSA_KEY, "one", "RS256", uid="アナ")):
        client = service.client(good)
        told = client.get("/v1/whoami").json()
        assert (told["tenant"], told["rights"], told["user"]) == ("acme", ["read", "write"], "アナ")
        assert client.post("/v1/erase", json={"user_id": "アナ"}).status_code == 403
    public = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    refused = {
        "another issuer": token(uid="a", iss="https://else.example"),
        "another audience": token(uid="a", aud="else"),
        "expired": token(uid="a", exp=int(time.time()) - 120),
        "no end": token(uid="a", exp=None),
        "not yet": token(uid="a", nbf=int(time.time()) + 120),
        "no tenant": token(uid="a", tenant=None),
        "an empty tenant": token(uid="a", tenant=""),
        "a list of tenants": token(uid="a", tenant=["acme", "other"]),
        "no user": token(),
        "another key": token(OTHER_KEY, uid="a"),
        "an unknown key": token(kid="three", uid="a"),
        "which key": token(kid=None, uid="a"),
        "unsigned": token("", "two", "none", uid="a"),
        "the public key as a shared secret": forged(public),
        "cut": token(uid="a")[:-4],
        "no token": "a.b.c",
    }
    assert {why: service.client(each).get("/v1/whoami").status_code for why, each in refused.items()} == dict.fromkeys(
        refused, 401
    )


def test_keys_of_a_provider_come_from_the_address_that_the_operator_named(serve: Callable[..., Serving]) -> None:
    asked_for: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(jwks().encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/keys"
        service = serve(provider=Provider(ISSUER, AUDIENCE, address))
        elsewhere = {"kid": "two", "jku": f"http://127.0.0.1:{server.server_port}/evil"}
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "s", "exp": now + 60, "tenant": "acme"}
        for _ in range(3):
            client = service.client(jwt.encode(claims, ED_KEY, algorithm="EdDSA", headers=elsewhere))
            assert client.get("/v1/whoami").json()["rights"] == []
            assert service.client(token(kid="unknown")).get("/v1/whoami").status_code == 401
        assert asked_for == ["/keys"]
    finally:
        server.shutdown()
        server.server_close()


def test_a_provider_without_a_safe_source_of_keys_is_refused() -> None:
    for source in ("http://login.example/keys", "/no/such/file", "ftp://login.example/keys"):
        with pytest.raises(SettingsError):
            Provider(ISSUER, AUDIENCE, source)


# rates, quotas and settings of tenants --------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is set for tenants is read at every call."""
    monkeypatch.setattr(tenants, "FRESH_SECONDS", -1.0)
    return None


def test_callers_are_counted_each_for_itself(serve: Callable[..., Serving], fresh: None) -> None:
    service = serve(limits=Limits(requests_a_minute=1))  # at once 20, then one a minute
    busy, other = (service.client(service.key("t", "read")) for _ in range(2))
    statuses = [busy.get("/v1/whoami").status_code for _ in range(25)]
    assert statuses[:20] == [200] * 20
    refused = busy.get("/v1/whoami")
    assert (refused.status_code, refused.json()["error"]) == (429, "RateLimitError")
    assert int(refused.headers["Retry-After"]) >= 1
    assert other.get("/v1/whoami").status_code == 200
    guesses = [service.client(f"ms_{n:012}_x").get("/v1/whoami").status_code for n in range(25)]
    assert (guesses[0], guesses[-1]) == (401, 429)  # keys are not guessed at any rate


def test_a_tenant_has_settings_and_quotas_of_its_own(serve: Callable[..., Serving], fresh: None) -> None:
    service = serve()
    service.keys.set_rules("small", Rules({"hot_capacity": 6, "page_size": 3}, max_turns=8))
    small, large = (service.client(service.key(tenant)) for tenant in ("small", "large"))
    for client in (small, large):
        for n in range(7):
            said = client.post(
                "/v1/turns", json={"messages": f"{n}日目は雨でした。", "user_id": "u", "session_id": "s"}
            )
            assert said.status_code == 201
    hot = [
        client.get("/v1/sessions", params={"user_id": "u"}).json()["sessions"][0]["hot"] for client in (small, large)
    ]
    assert hot == [4, 7]
    small.post("/v1/turns", json={"messages": "x", "user_id": "u"})
    full = small.post("/v1/turns", json={"messages": "x", "user_id": "u"})
    assert (full.status_code, full.json()["error"]) == (403, "QuotaError")
    service.keys.set_rules("small", Rules({"policy": "open"}, max_turns=9))
    assert small.post("/v1/turns", json={"messages": "x", "user_id": "u"}).status_code == 201
    assert service.app.tenants.memory("small").settings.policy == "open"
    service.keys.set_rules("small", Rules(requests_a_minute=1))
    assert 429 in {small.get("/v1/whoami").status_code for _ in range(25)}


@pytest.mark.parametrize(
    "settings", [{"tenant": "other"}, {"embedder": "minilm"}, {"llm": "local:x"}, {"alpha": 2}, {"no": 1}]
)
def test_a_tenant_cannot_have_what_is_the_services(tmp_path: Path, settings: dict[str, Any]) -> None:
    keys = AccessFile(tmp_path / "keys")
    with pytest.raises(SettingsError):
        keys.set_rules("t", Rules(settings))
    assert keys.rules_of("t") == Rules()
    keys.close()
