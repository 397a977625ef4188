"""Settings: arguments first, then `MEMSTRATA_*` in the environment, then a TOML file, then the defaults here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memstrata.errors import SettingsError

PREFIX = "MEMSTRATA_"
CONFIG = "MEMSTRATA_CONFIG"  # the variable that names the TOML file
Redaction = Literal["secrets", "cards", "passwords"]


class Settings(BaseSettings):
    """Everything that can be set. Greek letters are those of the papers."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    tenant: str = Field("default", min_length=1, max_length=256)
    embedder: str = "minilm"
    policy: str = "memstrata"
    worker: bool = True
    tz: str | None = None

    # intake
    max_chars: int = Field(100_000, ge=1)
    redact: tuple[Redaction, ...] = ("secrets", "cards", "passwords")
    redact_patterns: dict[str, str] = {}
    hot_capacity: int = Field(12, ge=1, le=1000)  # K, turns
    page_size: int = Field(5, ge=1, le=100)  # turns
    session_idle_hours: float = Field(6.0, gt=0)

    # tiers
    alpha: float = Field(0.9, gt=0, lt=1)
    beta: float = Field(0.3, gt=0, lt=1)
    gamma: float = Field(0.6, ge=0, le=1)
    theta: float = Field(0.1, gt=0, lt=1)  # a note lighter than this is forgotten
    forgetting: bool = True
    forgetting_rate: float | None = Field(None, gt=0)  # lambda a day for every kind; None: the rate of its kind
    grace_days: float = Field(30.0, ge=0)
    promote_heat: float = Field(0.6, ge=0, le=1)
    promote_recalls: int = Field(2, ge=1)
    promoted_pages: int = Field(2, ge=0)

    # notes
    links: bool = True
    evolution: bool = True
    tau_link: float = Field(0.5, ge=0, le=1)
    max_links: int = Field(8, ge=0)

    # recall
    hops: int = Field(2, ge=0, le=2)
    summary_from_turns: int = Field(30, ge=1)

    # jobs
    job_attempts: int = Field(5, ge=1)
    job_backoff_seconds: float = Field(2.0, ge=0)
    lease_seconds: float = Field(60.0, gt=0)

    @field_validator("tz")
    @classmethod
    def _zone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError) as error:
                raise ValueError(f"{value!r} is no IANA time zone, such as 'Asia/Tokyo'") from error
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.page_size > self.hot_capacity:
            raise ValueError(
                f"page_size ({self.page_size}) is larger than hot_capacity ({self.hot_capacity}): "
                "a page could never leave the hot tier"
            )
        if self.promote_heat <= self.beta:
            raise ValueError(
                f"promote_heat ({self.promote_heat}) must lie above beta ({self.beta}): a page would be promoted "
                "and distilled at once"
            )
        if self.evolution and not self.links:
            raise ValueError("evolution=True needs links=True: only linked notes evolve")
        if not self.forgetting and self.forgetting_rate is not None:
            raise ValueError("forgetting_rate is set but forgetting=False")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources: list[PydanticBaseSettingsSource] = [init_settings, env_settings]
        config = os.environ.get(CONFIG)
        if config:
            if not Path(config).is_file():
                raise SettingsError(f"{CONFIG}={config!r}: no such file")
            sources.append(TomlConfigSettingsSource(settings_cls, config))
        return tuple(sources)


def load_settings(**given: Any) -> Settings:
    """Settings from arguments, environment and file; SettingsError names what is wrong and where it came from."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields} | {CONFIG, f"{PREFIX}PATH", f"{PREFIX}USER"}
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known:
            raise SettingsError(f"{name} is no setting of memstrata; known: {', '.join(sorted(known))}")
    try:
        return Settings(**given)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
        )
        raise SettingsError(faults) from error
    except ValueError as error:  # a broken TOML file, or a variable that holds no JSON
        raise SettingsError(str(error)) from error
