"""Typed stateful functions for Structured Streaming, and ready-made ones.

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
from bucketstate.stateful.ready.aggregates import Aggregate
from bucketstate.stateful.ready.latest import latest
from bucketstate.stateful.ready.names import (
    approx_distinct,
    count,
    first,
    last,
    max,  # noqa: A004
    mean,
    min,  # noqa: A004
    sum,  # noqa: A004
    top,
)
from bucketstate.stateful.ready.passing import dedup, rate_limit
from bucketstate.stateful.ready.recipe import Recipe
from bucketstate.stateful.ready.reduce import reduce
from bucketstate.stateful.ready.sessions import sessions
from bucketstate.stateful.ready.windows import windows
from bucketstate.stateful.run.definition import Definition, define, output_schema, state_schema
from bucketstate.stateful.run.handle import State
from bucketstate.stateful.run.many_keys import Keys
from bucketstate.stateful.streaming import apply

__all__ = [
    "Aggregate",
    "Definition",
    "DefinitionError",
    "FirstWatermarkWarning",
    "Keys",
    "ListState",
    "MapState",
    "MigrationError",
    "Recipe",
    "RenamedFieldWarning",
    "State",
    "StateUsageError",
    "StatefulError",
    "Timer",
    "ValueState",
    "WrongTypeError",
    "apply",
    "approx_distinct",
    "count",
    "dedup",
    "define",
    "first",
    "last",
    "latest",
    "list_state",
    "map_state",
    "max",
    "mean",
    "min",
    "output_schema",
    "rate_limit",
    "reduce",
    "sessions",
    "state",
    "state_schema",
    "sum",
    "top",
    "value_state",
    "windows",
]
