"""What a scan asks for. It is checked before any file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from bucketstate.checkpoint.filtering import Filter
from bucketstate.checkpoint.spark.query import DEFAULT_STORE
from bucketstate.errors import InvalidArgumentError

STATE, CHANGES, DIFF, TIMERS, HISTORY = "state", "changes", "diff", "timers", "history"
KINDS = (STATE, CHANGES, DIFF, TIMERS, HISTORY)

_PLACE = {"kind", "operator", "partition", "columns", "filters"}
_OF_STATE = {"store", "column_family", "state_var"}
_OF_KEY = {"key", "user_key", "times", "flatten"}
_VERSION = {"version", "batch"}
_SINCE = {"since", "since_batch"}
_TAKEN = {
    STATE: _PLACE | _OF_STATE | _OF_KEY | _VERSION | {"decode"},
    CHANGES: _PLACE | _OF_STATE | _VERSION | _SINCE,
    DIFF: _PLACE | _OF_STATE | _VERSION | _SINCE | {"decode"},
    TIMERS: _PLACE | _VERSION | {"times"},
    HISTORY: _PLACE | _OF_STATE | _OF_KEY | {"decode"},
}
_TEXTS = {"store", "column_family", "state_var"}
_NOT_DECODED = _OF_STATE | {"user_key", "times", "flatten"}


class Asked(TypedDict, total=False):
    """The arguments of `Checkpoint.scan` by name, but `decode`, for type checkers."""

    operator: int
    partition: int | None
    store: str
    column_family: str | None
    state_var: str | None
    version: int | None
    batch: int | None
    since: int | None
    since_batch: int | None
    key: Any
    user_key: Any
    times: bool
    flatten: bool
    columns: Sequence[str] | None
    filters: Sequence[Filter] | None


@dataclass(frozen=True)
class Selection:
    """The arguments of `Checkpoint.scan`.

    Raises InvalidArgumentError for arguments that are at odds with each other.
    """

    kind: str = STATE
    operator: int = 0
    partition: int | None = None
    store: str = DEFAULT_STORE
    column_family: str | None = None
    state_var: str | None = None
    version: int | None = None
    batch: int | None = None
    since: int | None = None
    since_batch: int | None = None
    key: Any = None
    user_key: Any = None
    times: bool = False
    flatten: bool = True
    decode: Any = None
    columns: Sequence[str] | None = None
    filters: Sequence[Filter] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidArgumentError(f"kind={self.kind!r}: give one of {', '.join(KINDS)}.")
        for name in sorted(self._given - _TAKEN[self.kind]):
            raise InvalidArgumentError(
                f"{name}={getattr(self, name)!r} is given to a scan of {self.kind}, which takes "
                "none: leave it out."
            )
        for name in sorted(_TEXTS):
            if not isinstance(getattr(self, name), str | None):
                raise InvalidArgumentError(
                    f"{name}={getattr(self, name)!r} is a {type(getattr(self, name)).__name__}: "
                    "give a name as text."
                )
        self._check_pair("version", "batch", " Batch n makes version n + 1.")
        self._check_pair("since", "since_batch", " Batch n makes version n + 1.")
        self._check_pair("state_var", "column_family")
        if self.kind == HISTORY and self.key is None:
            raise InvalidArgumentError("A scan of history is of one key: give key.")
        if self.user_key is not None and self.key is None:
            raise InvalidArgumentError(
                f"user_key={self.user_key!r} is given without key: give the grouping key, too."
            )
        for name in sorted(self._given & _NOT_DECODED) if self.decode is not None else ():
            raise InvalidArgumentError(
                f"{name}={getattr(self, name)!r} is given with decode, which reads whole states: "
                "leave one of them out."
            )
        if isinstance(self.columns, str):
            raise InvalidArgumentError(f"columns={self.columns!r} is a text: give a list of them.")
        self._check_list("columns")
        self._check_list("filters")
        if self.columns is not None and not len(self.columns):
            raise InvalidArgumentError(
                f"columns={self.columns!r} names none: leave it out for all."
            )

    @property
    def _given(self) -> set[str]:
        """The arguments that are not what they are by default."""
        return {f.name for f in fields(self) if not _same(getattr(self, f.name), f.default)}

    def _check_list(self, name: str) -> None:
        given = getattr(self, name)
        if given is not None and not isinstance(given, list | tuple):
            raise InvalidArgumentError(
                f"{name}={given!r} is a {type(given).__name__}: give a list."
            )

    def _check_pair(self, one: str, other: str, why: str = "") -> None:
        first, second = getattr(self, one), getattr(self, other)
        if first is not None and second is not None:
            raise InvalidArgumentError(
                f"{one}={first!r} and {other}={second!r} are given: give one of them.{why}"
            )


def _same(value: Any, default: Any) -> bool:
    # A key may be anything, and equal to what it likes.
    return value is default or (isinstance(value, str | int) and bool(value == default))


NAMES = tuple(field.name for field in fields(Selection))
