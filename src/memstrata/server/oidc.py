"""JWTs of an OpenID provider as credentials: signed by a key that the operator named, for this service, of a tenant."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt import PyJWKClient, PyJWKSet, PyJWTError

from memstrata.errors import ScopeError, SettingsError
from memstrata.intake.scope import scope_of
from memstrata.server.access import Principal
from memstrata.server.keys import RIGHTS

log = logging.getLogger("memstrata.server")
# Only what has a public key to check with: never "none", never a shared secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SCOPE_PREFIX = "memstrata:"  # a scope "memstrata:read" gives the right "read"
REFRESH_SECONDS, HURRY_SECONDS, TIMEOUT_SECONDS = 300.0, 30.0, 5.0
LEEWAY_SECONDS = 30.0
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")


@dataclass(frozen=True, slots=True)
class Provider:
    """Whose tokens are taken, and how they are read.

    `jwks` is the path of a file or an HTTPS address, given by the operator: what a token says of where its key lies is
    never followed. `tenant_claim` names the claim that is the tenant; `user_claim`, where set, the one that is the only
    user that the token may name.
    """

    issuer: str
    audience: str
    jwks: str
    tenant_claim: str = "tenant"
    user_claim: str | None = None

    def __post_init__(self) -> None:
        address = urlsplit(self.jwks)
        if address.scheme == "http" and address.hostname not in LOCAL_HOSTS:
            raise SettingsError(f"the keys of the provider must come by https or from a file, not from {self.jwks}")
        if address.scheme not in ("http", "https") and not Path(self.jwks).is_file():
            raise SettingsError(f"{self.jwks}: no such file of keys (a JWKS), and no https address")


@dataclass(slots=True)
class JwtAuthenticator:
    """Checks the signature, issuer, audience and times of a JWT, and reads tenant and rights from its claims."""

    provider: Provider
    _keys: PyJWKSet | None = None
    _read_at: float = field(default=-REFRESH_SECONDS)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def check(self, credential: str) -> Principal | None:
        if credential.count(".") != 2:
            return None
        provider = self.provider
        try:
            header = jwt.get_unverified_header(credential)
            key = await self._key(header.get("kid"))
            claims = jwt.decode(
                credential,
                key,
                algorithms=list(ALGORITHMS),
                audience=provider.audience,
                issuer=provider.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return self._principal(claims)
        except (PyJWTError, ScopeError) as error:
            log.info("a token was refused: %s", type(error).__name__)
            return None

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        """Raises ScopeError for a tenant or user that cannot be an id."""
        tenant = claims.get(self.provider.tenant_claim)
        user = None if self.provider.user_claim is None else claims.get(self.provider.user_claim, "")
        scope_of(tenant, "-" if user is None else user)
        scopes = claims.get("scope", claims.get("scp", ()))
        scopes = set(scopes.split() if isinstance(scopes, str) else scopes)
        rights = frozenset(right for right in RIGHTS if f"{SCOPE_PREFIX}{right}" in scopes)
        subject = hashlib.blake2b(f"{claims['iss']}\n{claims['sub']}".encode(), digest_size=8).hexdigest()
        return Principal(str(tenant), rights, f"jwt:{subject}", user)

    async def _key(self, kid: object) -> Any:
        """The provider's key of this id; one that is not known yet is looked for, but not at every token."""
        age = time.monotonic() - self._read_at
        if self._keys is None or age > REFRESH_SECONDS or (not self._has(kid) and age > HURRY_SECONDS):
            async with self._lock:
                if time.monotonic() - self._read_at >= min(age, HURRY_SECONDS):  # nobody was faster
                    self._keys = await asyncio.to_thread(self._read)
                    self._read_at = time.monotonic()
        found = [key for key in self._keys.keys if kid is None or key.key_id == kid] if self._keys else []
        if len(found) != 1:
            raise jwt.InvalidKeyError("no key of this id")
        return found[0].key

    def _has(self, kid: object) -> bool:
        return self._keys is not None and any(kid is None or key.key_id == kid for key in self._keys.keys)

    def _read(self) -> PyJWKSet:
        if urlsplit(self.provider.jwks).scheme in ("http", "https"):
            client = PyJWKClient(self.provider.jwks, cache_jwk_set=False, timeout=TIMEOUT_SECONDS)
            return client.get_jwk_set(refresh=True)
        return PyJWKSet.from_json(Path(self.provider.jwks).read_text(encoding="utf-8"))
