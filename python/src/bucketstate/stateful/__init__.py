"""Typed stateful functions for Structured Streaming.

They run on Spark's `applyInPandasWithState` and on its `transformWithState`.
"""

from bucketstate.stateful import libraries as _libraries  # noqa: F401  # isort: skip
from bucketstate.stateful.codec.evolution import state
from bucketstate.stateful.codec.instants import Timer
from bucketstate.stateful.codec.parts import (
    ListState,
    MapState,
    ValueState,
    list_state,
    map_state,
    value_state,
)
from bucketstate.stateful.errors import (
    DefinitionError,
    FirstWatermarkWarning,
    MigrationError,
    RenamedFieldWarning,
    StatefulError,
    StateUsageError,
    WrongTypeError,
)
from bucketstate.stateful.run.definition import Definition, define, output_schema, state_schema
from bucketstate.stateful.run.handle import State
from bucketstate.stateful.run.many_keys import Keys
from bucketstate.stateful.streaming import apply

__all__ = [
    "Definition",
    "DefinitionError",
    "FirstWatermarkWarning",
    "Keys",
    "ListState",
    "MapState",
    "MigrationError",
    "RenamedFieldWarning",
    "State",
    "StateUsageError",
    "StatefulError",
    "Timer",
    "ValueState",
    "WrongTypeError",
    "apply",
    "define",
    "list_state",
    "map_state",
    "output_schema",
    "state",
    "state_schema",
    "value_state",
]
