"""Settings: arguments first, then `MEMSTRATA_*` in the environment, then a TOML file, then the defaults here."""

from __future__ import annotations

import os
from difflib import get_close_matches
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
from memstrata.presets import CONTEXT_HITS, LEGS, PRESETS, LegName, PresetName

PREFIX = "MEMSTRATA_"
CONFIG = "MEMSTRATA_CONFIG"  # the variable that names the TOML file
Redaction = Literal["secrets", "cards", "passwords"]


class Settings(BaseSettings):
    """Everything that can be set. Greek letters are those of the papers."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    tenant: str = Field(
        "default",
        min_length=1,
        max_length=256,
        description="The wall around everything this memory does; set by whoever opens it.",
    )
    embedder: str = Field(
        "minilm",
        description="minilm, multilingual, static, hashing, sentence-transformers:NAME, fastembed:NAME, openai:NAME.",
    )
    preset: PresetName = Field(
        "memstrata",
        description="memstrata, or the stages and constants of memoryos, a-mem, a-mac; what else is set wins over it.",
    )
    policy: str = Field(
        "memstrata", description="The gate's policy: memstrata, strict, a-mac, open, or the path of a TOML file."
    )
    worker: bool = Field(
        True, description="Work off the queue in the background; False leaves it to flush and maintain."
    )
    tz: str | None = Field(None, description="IANA zone of naive times, and of dates that are shown.")

    # intake
    max_chars: int = Field(100_000, ge=1, description="Most characters of one message.")
    redact: tuple[Redaction, ...] = Field(
        ("secrets", "cards", "passwords"), description="What is cut before it is stored."
    )
    redact_patterns: dict[str, str] = Field({}, description="More of it: kind to regular expression.")
    hot_capacity: int = Field(12, ge=1, le=1000, description="K: turns of a session that stay hot.")
    page_size: int = Field(5, ge=1, le=100, description="Turns of a page.")
    session_idle_hours: float = Field(6.0, gt=0, description="A session ends when its last turn is older than this.")

    # tiers
    warm: bool = Field(True, description="Whether pages stay warm; False distils them when they are made.")
    cold: bool = Field(True, description="Whether pages that cooled are distilled into notes.")
    alpha: float = Field(0.9, gt=0, lt=1, description="How slowly heat follows accesses.")
    beta: float = Field(0.3, gt=0, lt=1, description="A page colder than this is distilled.")
    gamma: float = Field(0.6, ge=0, le=1, description="Share of similarity, against heat, in a warm page's score.")
    theta: float = Field(0.1, gt=0, lt=1, description="A note lighter than this is forgotten.")
    forgetting: bool = Field(True, description="Whether notes fade.")
    forgetting_rate: float | None = Field(
        None, gt=0, description="Lambda a day for every kind; None: the rate of its kind."
    )
    fading: float = Field(
        0.2, ge=0, le=1, description="Share of a note's score that its weight can take; 1: similarity times weight."
    )
    grace_days: float = Field(30.0, ge=0, description="How long a forgotten note can be restored.")
    erase_after_days: float | None = Field(
        None, gt=0, description="maintain erases a user or agent of whom nothing came for so long; None: nobody."
    )
    promote_heat: float = Field(0.6, ge=0, le=1, description="Heat from which a page may be promoted into a context.")
    promote_recalls: int = Field(2, ge=1, description="Recalls from which it may.")
    promoted_pages: int = Field(2, ge=0, description="Promoted pages in a context, at most.")

    # notes
    links: bool = Field(True, description="Whether notes are linked.")
    evolution: bool = Field(True, description="Whether linked older notes evolve.")
    tau_link: float = Field(0.5, ge=0, le=1, description="Relevance from which notes are linked.")
    max_links: int = Field(8, ge=0, description="Links of a note, at most.")
    compression: bool = Field(True, description="Whether maintain folds notes that say the same into one.")

    # recall
    legs: tuple[LegName, ...] = Field(LEGS, description="What recall looks at; leave some out to see what they bring.")
    late_interaction: bool = Field(
        True, description="Whether the vectors of turns' tokens are stored and compared, where the embedder has them."
    )
    reranker: str | None = Field(
        None,
        description="onnx:FOLDER, sentence-transformers:NAME or api:MODEL: reads the best hits again; None: none does.",
    )
    reranker_url: str | None = Field(None, description="Endpoint of reranker='api:MODEL'.")
    reranked: int = Field(40, ge=1, le=200, description="How many of the best hits a reranker reads.")
    rewrite: bool = Field(
        False,
        description="Whether the language model adds words to what is looked for: one call a recall.",
    )
    model_size: Literal["small", "medium", "large"] = Field(
        "medium", description="The model that reads contexts: 15, 20 or 30 recalled memories go into one."
    )
    k: int | None = Field(
        None, ge=1, le=1000, description="Recalled memories in a context, at most; None: by model_size."
    )
    hops: int = Field(2, ge=0, le=2, description="How far recall follows links, 0 to 2.")
    summary_from_turns: int = Field(
        30, ge=1, description="Turns of a session from which the summary strategy uses summaries."
    )

    # language model
    llm: str | None = Field(
        None,
        description="openai:NAME, anthropic:NAME, google:NAME, bedrock:NAME, local:PATH.gguf; None: no model is used.",
    )
    llm_base_url: str | None = Field(
        None,
        description="Another endpoint that speaks the provider's protocol; for openai:NAME vLLM, Ollama, ...",
    )
    llm_profile: Literal["full", "small"] | None = Field(
        None, description="How much the model is asked at once; None: small for local models, else full."
    )
    nli: str | None = Field(
        None,
        description="onnx:FOLDER: a model that is asked first whether statements contradict each other; None: none is.",
    )
    llm_fallback: Literal["retry", "offline"] = Field(
        "retry",
        description="When the model fails for good: retry leaves the job failed and visible, offline does without it.",
    )
    llm_timeout_seconds: float = Field(120.0, gt=0, description="How long one try of a call may take.")
    llm_concurrency: int = Field(4, ge=1, description="Calls under way at once.")
    llm_batch_seconds: float | None = Field(
        None,
        gt=0,
        description="Ask the first calls of pages in the provider's batches, for less and within a day, and look for "
        "answers this often; None: ask at once.",
    )
    llm_tokens_a_day: int | None = Field(
        None, ge=1, description="Most tokens, in and out, of a day (UTC) of a tenant; None: no limit."
    )
    llm_money_a_day: float | None = Field(
        None,
        gt=0,
        description="Most US dollars of a day (UTC) of a tenant, as far as prices are known; None: no limit.",
    )

    # service
    hot_url: str | None = Field(
        None,
        repr=False,
        description="redis://HOST:PORT/0: a Redis or Valkey that keeps what contexts show of sessions; None: none.",
    )

    index_megabytes: int = Field(
        256, ge=1, description="What the owners' indexes of a process may take; the longest unused are dropped."
    )

    # jobs
    job_attempts: int = Field(5, ge=1, description="Tries of queued work before a person must look.")
    job_backoff_seconds: float = Field(2.0, ge=0, description="Wait before the first retry; doubled at each.")
    lease_seconds: float = Field(60.0, gt=0, description="How long a worker holds an owner without renewing.")

    @property
    def context_hits(self) -> int:
        """k of a context: `k`, or what goes with `model_size`."""
        return CONTEXT_HITS[self.model_size] if self.k is None else self.k

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, given: Any) -> Any:
        """Let the preset give what is set nowhere; an unknown name is left to the field's own check."""
        if isinstance(given, dict) and given.get("preset") in PRESETS:
            return {**PRESETS[given["preset"]], **given}
        return given

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
        if not {"notes", "transcript"} & set(self.legs):
            raise ValueError("legs must hold notes or transcript: else nothing can be found")
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
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields} | {
        CONFIG,
        *(f"{PREFIX}{name}" for name in ("PATH", "USER", "API_KEY")),
    }
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known:
            raise SettingsError(f"{name} is no setting of memstrata; known: {', '.join(sorted(known))}")
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(map(_fault, error.errors()))) from error
    except ValueError as error:  # a broken TOML file, or a variable that holds no JSON
        raise SettingsError(str(error)) from error


def _fault(fault: Any) -> str:
    """What is wrong with a setting, by its name, in a sentence."""
    name = ".".join(map(str, fault["loc"])) or "settings"
    if fault["type"] != "extra_forbidden":
        return f"{name}: {fault['msg'].removeprefix('Value error, ')}"
    near = get_close_matches(name, Settings.model_fields, n=1)
    return f"{name} is no setting" + (f"; did you mean {near[0]}?" if near else "; docs/settings.md lists all")
