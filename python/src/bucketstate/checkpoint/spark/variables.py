"""State variables of transformWithState, and the column families that Spark keeps for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bucketstate.checkpoint.format.damage import json_object
from bucketstate.checkpoint.spark.types import StructType

VariableKind = Literal["value", "list", "map"]

_KINDS: dict[str, VariableKind] = {"ValueState": "value", "ListState": "list", "MapState": "map"}
_TIMER = "TimerState"

TTL_INDEX, LEAST_EXPIRY, TTL_COUNT, COUNT = "$ttl_", "$min_", "$count_", "$rowCounter_"
"""What the names of a variable's internal families start with; the variable's name follows."""
TTL_FIELD = "ttlExpirationMs"
"""The field beside a value that says when it expires, in milliseconds since 1970."""
_BY_KEY, _BY_TIME = "_keyToTimestamp", "_timestampToKey"
_TIMERS = {"ProcessingTime": "$procTimers", "EventTime": "$eventTimers"}

_ROLES = {
    TTL_INDEX: "expiry times of {}, in order",
    LEAST_EXPIRY: "next expiry of each list of {}",
    TTL_COUNT: "length of each list of {}",
    COUNT: "length of each list of {}",
}


@dataclass(frozen=True)
class VariableInfo:
    """A state variable as the operator's metadata name it; `ttl` says whether its values expire."""

    name: str
    kind: VariableKind
    ttl: bool

    def family(self, index: str) -> str:
        """One of its internal column families, by what their names start with."""
        return index + self.name


@dataclass(frozen=True)
class StateVariable:
    """A state variable of transformWithState with its schemas. Immutable.

    The schemas are looked at as pyspark's are (`names`, `simpleString()`), and need no pyspark.
    """

    name: str
    """Its name in the function."""

    kind: VariableKind
    """`value`, `list` or `map`."""

    ttl: bool
    """Whether its values expire."""

    key: StructType
    """The grouping key."""

    user_key: StructType | None
    """What the keys of a map are; None for what is no map."""

    value: StructType
    """What it holds. Where values expire, a struct of the value and `ttlExpirationMs`, in
    milliseconds since 1970."""

    schema_ids: tuple[int, ...]
    """The numbers of the schemas that values may have been written with; the newest is what they
    are read as."""


@dataclass(frozen=True)
class TransformWithState:
    """What Spark recorded of a transformWithState operator.

    `time_mode` is `None`, `ProcessingTime` or `EventTime`.
    """

    time_mode: str
    output_mode: str
    variables: tuple[VariableInfo, ...]

    @property
    def timers(self) -> str | None:
        """The column family of the timers by key; None if the operator can have none."""
        base = _TIMERS.get(self.time_mode)
        return base and base + _BY_KEY

    @property
    def timers_by_time(self) -> str | None:
        base = _TIMERS.get(self.time_mode)
        return base and base + _BY_TIME

    def variable(self, name: str) -> VariableInfo | None:
        return next((v for v in self.variables if v.name == name), None)

    def role(self, family: str) -> str:
        """What a column family of the operator is for; empty if that is not known."""
        if variable := self.variable(family):
            return f"{variable.kind} state" + (" with TTL" if variable.ttl else "")
        if family == "default":
            return "not used"
        for base in _TIMERS.values():
            if family.startswith(base):
                return "timers by key" if family.endswith(_BY_KEY) else "timers by time"
        for start, role in _ROLES.items():
            if family.startswith(start):
                return role.format(family.removeprefix(start))
        return ""


def transform_with_state(properties: str) -> TransformWithState | None:
    """From the operator's properties in its metadata; None for another operator.

    KeyError, TypeError or ValueError for what cannot be such properties.
    """
    raw = json_object(properties) if properties else {}
    if "stateVariables" not in raw:
        return None
    variables = tuple(
        VariableInfo(v["stateName"], _KINDS[v["stateVariableType"]], bool(v["ttlEnabled"]))
        for v in sorted(raw["stateVariables"], key=lambda v: str(v["stateName"]))
        if v["stateVariableType"] != _TIMER
    )
    return TransformWithState(raw["timeMode"], raw["outputMode"], variables)
