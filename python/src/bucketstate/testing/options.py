"""What a harness can be given by name, for type checkers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator


class Given(TypedDict, total=False):
    """What a harness can be given beside its function, also where a checkpoint says the rest."""

    schema: Any
    timeout: Timeout | None
    event_time: str | None
    delay: timedelta
    clock: datetime
    time_zone: str
    rows_per_chunk: int | None
    seed: int
    output: Any
    chunked: bool | None
    many_keys: bool


class Options(Given, total=False):
    """What a harness can be given beside the function and the grouping columns."""

    operator: Operator
    initial_state: Any


class Point(Given, total=False):
    """Where in a checkpoint a harness begins, and what else it is given."""

    version: int | None
    batch: int | None
    operator_id: int
    filesystem: Any
