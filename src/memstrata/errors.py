"""Every error memstrata raises on purpose.

MemstrataError
├── InputError            what a caller passed cannot be taken: says what, where and what to do
│   ├── MessageError      one message or content part; names its index
│   ├── ScopeError        a user or an agent must be named, ids must be clean
│   ├── FilterError       a filter that cannot be read
│   ├── TimeError         naive or impossible times
│   └── SettingsError     settings that contradict each other or are unknown
├── NotFoundError         no such note, page, turn, decision or operation in this scope
├── ConflictError         the store changed, or an id or key was used before with other content
│   ├── IdempotencyError  the same idempotency key with another payload
│   ├── ReplayError       the log alone no longer gives this store
│   └── UndoError         later operations changed the same rows; lists them
├── StoreError            the file or server behind the store
│   ├── StoreFormatError  not a memstrata store, damaged, or of a newer version
│   ├── StoreFullError    no space left: nothing was written
│   ├── StoreBusyError    another process holds the store for too long
│   ├── StoreReadOnlyError  the file, its folder or its disk cannot be written; reading goes on
│   ├── StoreUnreachableError  the server behind the store does not answer
│   └── ModelMismatchError  the store's vectors come from another embedding model
├── EmbedderError         the embedding model failed; turns are kept, the work stays queued
├── LLMError              the language model gave no answer that can be used; nothing was changed
│   ├── LLMUnavailableError  it cannot be reached, is overloaded, or is given a rest; tells when to try again
│   ├── LLMBudgetError    the day's budget of tokens or money is used up
│   ├── LLMRefusedError   it will not answer this, or does not take the request as it is
│   └── LLMUnreadableError   its answer cannot be read
├── SignalError           the gate could not compute a signal; the candidate waits and is tried again
├── MissingExtraError     an optional dependency is needed; names the pip command
├── LimitError            larger than a documented limit
├── ServiceError          the service that holds the memory cannot be reached, or its answer cannot be read
│   └── AccessError       it refuses the credential, or what that has no right to; a rate or a quota
└── ClosedError           used after close()

The docstring of a class is its message when none is given.
"""

from __future__ import annotations


class MemstrataError(Exception):
    """memstrata failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or type(self).__name__).strip().splitlines()[0])


class InputError(MemstrataError, ValueError):
    """An argument cannot be taken."""


class MessageError(InputError):
    """A message cannot be taken.

    `index` is the position of the message in the call (None for a single one), `part` that of the content part.
    """

    def __init__(self, message: str, *, index: int | None = None, part: int | None = None) -> None:
        where = "" if index is None else f"messages[{index}]"
        if part is not None:
            where += f".content[{part}]"
        super().__init__(f"{where}: {message}" if where else message)
        self.index = index
        self.part = part


class ScopeError(InputError):
    """Name a user_id or an agent_id: every read and write belongs to one."""


class FilterError(InputError):
    """A filter cannot be read."""


class TimeError(InputError):
    """A time cannot be taken: pass an aware datetime, an ISO 8601 string with an offset, or set tz."""


class SettingsError(InputError):
    """The settings contradict each other or name something unknown."""


class LimitError(InputError):
    """Larger than a documented limit."""


class NotFoundError(MemstrataError, KeyError):
    """Nothing with this id in this scope."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class ConflictError(MemstrataError):
    """The store changed in between, or an id was used before with other content."""


class IdempotencyError(ConflictError):
    """This idempotency key was used before with another payload."""


class UndoError(ConflictError):
    """Later operations changed what this undo would restore.

    `blockers` lists their ids, newest first; `undo(..., cascade=True)` undoes those too.
    """

    def __init__(self, message: str, *, blockers: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.blockers = blockers


class ReplayError(ConflictError):
    """The operation log alone no longer gives this store: something in it went for good, or was not logged."""


class StoreError(MemstrataError):
    """The store failed."""


class StoreFormatError(StoreError):
    """The file is not a memstrata store, is damaged, or was written by a newer version."""


class StoreFullError(StoreError):
    """No space is left where the store lies; nothing of this call was written. Free some space and repeat the call."""


class StoreBusyError(StoreError):
    """Another process held the store's write lock for too long; nothing of this call was written. Repeat the call."""


class StoreReadOnlyError(StoreError):
    """The store's file, its folder or its disk can only be read; nothing of this call was written."""


class StoreUnreachableError(StoreError):
    """The server behind the store cannot be reached; nothing of this call was written. Repeat the call."""


class ModelMismatchError(StoreError):
    """The vectors in this store were made by another embedding model."""


class EmbedderError(MemstrataError):
    """The embedding model failed; the turns are stored and the work stays queued."""


class ModelFileError(MemstrataError):
    """A model's files cannot be loaded, or the model failed on what it was given."""


class RerankerError(MemstrataError):
    """The reranker gave no scores that can be used; recall goes on in its own order and says so."""


class SignalError(MemstrataError):
    """A signal of the gate could not be computed; the candidate waits and is tried again."""


class LLMError(MemstrataError):
    """The language model gave no answer that can be used; nothing was changed."""


class LLMUnavailableError(LLMError):
    """The language model cannot be reached now.

    `retry_after`: seconds to wait before the next try, where somebody said so. `asked` is False when the model was not
    even asked (it is given a rest after several failures): such a try does not count.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, asked: bool = True) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.asked = asked


class LLMBudgetError(LLMUnavailableError):
    """The day's budget of tokens or money is used up; the work stays queued until the next day (UTC)."""


class LLMRefusedError(LLMError):
    """The language model refuses to answer, or the request to it is wrong: a key, a name, a length."""


class LLMUnreadableError(LLMError):
    """The language model's answer cannot be read: it is neither the JSON that was asked for nor near to it."""


class MissingExtraError(MemstrataError, ImportError):
    """An optional dependency is not installed.

    >>> str(MissingExtraError("the multilingual embedder", "multilingual"))
    "the multilingual embedder needs an extra: pip install 'memstrata[multilingual]'"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'memstrata[{extra}]'")
        self.extra = extra


class ServiceError(MemstrataError):
    """The service that holds the memory cannot be reached, or its answer cannot be read.

    `status` is that of its answer; `retry_after` the seconds to wait, where it said so.
    """

    status: int = 502
    retry_after: float | None = None


class AccessError(ServiceError):
    """The service refuses the credential, or what it has no right to: a key, a rate or a quota."""


class ClosedError(MemstrataError):
    """This memory is closed; open it again."""
