"""What `define` and `apply` say about a function, before there is a session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from pyspark.sql.types import StructType

from bucketstate.stateful.many.columnar import Columnar
from bucketstate.stateful.ready.recipe import Recipe, bound, clock_of
from bucketstate.stateful.run import operators
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.definition import Definition, output_codec
from bucketstate.stateful.run.keys import KeyCodec, key_field
from bucketstate.stateful.run.operators import Operator
from bucketstate.stateful.run.wire import Wire


def checked(
    fn: Any,
    *,
    by: Sequence[str] = (),
    schema: Any = None,
    operator: Operator = "applyInPandasWithState",
    timeout: Any = None,
    state: Any = None,
    output: Any = None,
) -> Definition:
    """The function's definition, if it can be applied to such rows.

    Args:
        fn: as for `apply`.
        by: the grouping columns; without, the key is not looked at.
        schema: the rows' columns as a dataclass, a DDL text or a StructType; without, they are not
            looked at.
        operator: as for `apply`.
        timeout: as for `apply`.
        state: as for `define`.
        output: as for `define`.

    Raises:
        DefinitionError: it can never work, or not on such rows.
        SessionError: this pyspark has no such operator.
    """
    timeout = clock_of(fn, timeout)
    rows = None if schema is None else output_codec(schema, UTC).schema
    if isinstance(fn, Recipe):
        by = [*by, *fn.adds]
        rows = None if rows is None else fn.columns(rows)
    definition = bound(fn, rows, by, state=state, output=output)
    operators.check(definition, operator, timeout)
    if operator == "transformWithState":
        operators.check_spark()
    if rows is None:
        return definition
    keys = StructType([key_field(rows, name) for name in by])
    if operator == "transformWithState":
        operators.check_keys(keys)
    key = KeyCodec(keys, UTC, definition.key if by else None)
    if definition.library is None:
        Calls(definition, rows, timeout, UTC)
    else:
        wire = Wire(rows, by, masked=True)
        made = definition.output_codec(UTC)
        put_out = StructType([]) if made is None else made.schema
        Columnar(definition, rows, key, wire, put_out, timeout, UTC)
    return definition
