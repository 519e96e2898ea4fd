"""The Spark schemas that follow from types."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.codec.document import state_codec
from bucketstate.stateful.run.definition import output_codec

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def state_schema(state: Any) -> StructType:
    """The schema of a state class's document, for Spark's `from_json` on a stored state.

    Args:
        state: a dataclass, a DDL text or a StructType.

    Raises:
        DefinitionError: a hint has no place in a schema; it names the field.
    """
    return state_codec(state, UTC).stored


def output_schema(output: Any) -> StructType:
    """The schema of the rows that a function puts out.

    Args:
        output: a dataclass, a DDL text or a StructType.

    Raises:
        DefinitionError: a hint has no place in a schema; it names the field.
    """
    return output_codec(output, UTC).schema
