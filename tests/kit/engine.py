"""The engine that a run of the tests is about, as for the Scala suites."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, cast, get_args

from bucketstate import Conf

if TYPE_CHECKING:
    from collections.abc import Mapping

Engine = Literal["heap", "rocksdb"]

VARIABLE = "BUCKETSTATE_ENGINE"


def engine(environment: Mapping[str, str] = os.environ) -> Engine:
    named = environment.get(VARIABLE, "heap")
    assert named in get_args(Engine), f"{VARIABLE} is {named}: it must be one of {get_args(Engine)}"
    return cast("Engine", named)


CONF = Conf(num_buckets=16, engine=engine())
"""Of every query, which a test may put its own settings over."""
