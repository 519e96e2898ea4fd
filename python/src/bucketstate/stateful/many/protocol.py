"""What travels between the operator for many keys, in the JVM, and a worker, as Arrow.

The JVM's side is `spark/many/Protocol.scala`. The number in the marker is that of this protocol: a
jar that does not know it leaves the function to Spark, which calls it one key at a time.

To the worker travels one line for each row, as `row`; the first line of each key has its `call`:
the key's columns, the stored state, the timeout that was set for it, whether it was reached, and
the batch's clocks. A key that was called for its timeout has that line alone, without a row. A
key's lines may lie in several batches.

Back travel output rows, as `row`, and beside them, with no relation to them, what becomes of the
keys, in the order of their calls: an action, the state and the timeout.

On `transformWithState` calls have two fields more, the timers that have fired and the values of the
parts, as texts; and answers have the timers that end and begin, and the parts that were written,
each with its text or without one where it was cleared. Timeouts are timers there. Without parts
their fields are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bucketstate.stateful.codec.kept import SCHEMA
from bucketstate.stateful.run.chunks import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql.types import StructType

MARKER = "bucketstate-many-1:"
"""A function whose name begins so takes either the arguments of `applyInPandasWithState`, or an
iterator of batches alone."""

VARIABLES = "bucketstate-many-variables-1:"
"""Within the pickle of a processor of `transformWithState`: that it takes many keys, too. Behind it
stand the parts, each a name, `=` and the time to live in milliseconds or nothing, with commas
between, and a line's end."""

UNTOUCHED, PUT, REMOVED = 0, 1, 2

NO_TIME = -1
"""Where there is no watermark."""

STATE = pa.struct(list(arrow_schema(SCHEMA)))
PART = pa.struct([("value", pa.string())])
TIMES = pa.list_(pa.int64())


def call_type(key: StructType) -> pa.StructType:
    """The type of a call, for grouping columns of that schema."""
    return pa.struct(
        [
            ("key", pa.struct(list(arrow_schema(key)))),
            ("state", STATE),
            ("timeout", pa.int64()),
            ("timed_out", pa.bool_()),
            ("now", pa.int64()),
            ("watermark", pa.int64()),
        ]
    )


def answer_schema(output: StructType) -> pa.Schema:
    """The schema of what travels back, for output rows of the given one."""
    return pa.schema(
        [
            ("row", pa.struct(list(arrow_schema(output)))),
            ("action", pa.int8()),
            ("state", STATE),
            ("timeout", pa.int64()),
        ]
    )


def variables_answer_schema(output: StructType, parts: Iterable[str]) -> pa.Schema:
    """As `answer_schema`, on `transformWithState`."""
    schema = answer_schema(output).append(pa.field("ended", TIMES)).append(pa.field("begun", TIMES))
    written = [(name, PART) for name in parts]
    return schema.append(pa.field("parts", pa.struct(written))) if written else schema
