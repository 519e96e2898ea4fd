"""What the two operators of Spark can do, and what is asked of one that it cannot."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyspark
from pyspark.sql import GroupedData
from pyspark.sql.types import DayTimeIntervalType, YearMonthIntervalType

from bucketstate.config import (
    EXTENSION_CLASS,
    EXTENSIONS_KEY,
    PLUGIN_CLASS,
    PLUGINS_KEY,
    PROVIDER_CLASS,
    PROVIDER_KEY,
)
from bucketstate.errors import SessionError
from bucketstate.optional import needed
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.run.keys import alike
from bucketstate.stateful.run.processor import STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql.types import StructType

    from bucketstate.stateful.run.definition import Definition

Operator = Literal["applyInPandasWithState", "transformWithState"]

_ROWS_PER_OUTPUT = "spark.sql.execution.arrow.maxRecordsPerOutputBatch"
_BYTES_PER_OUTPUT = "spark.sql.execution.arrow.maxBytesPerOutputBatch"
_SLICED = {
    _ROWS_PER_OUTPUT: "puts out rows twice, or fails",
    _BYTES_PER_OUTPUT: "fails, or puts out rows of nulls",
}
"""What the own ways of Spark 4.1 and 4.2 do where these settings have them slice their output."""
_UNSLICED: dict[Operator, str] = {
    "applyInPandasWithState": f"many_keys=True in a session with {PLUGINS_KEY}={PLUGIN_CLASS}",
    "transformWithState": f"many_keys=True on Spark 4.2 with {PROVIDER_CLASS}, which takes states "
    "whose parts are a ValueState each",
}
_MORE_THAN_NONE = re.compile(r"\s*0*[1-9]")

TIMEOUTS = (None, "processing", "event")

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check(
    definition: Definition, operator: Any, timeout: Any, *, initial_state: bool = False
) -> None:
    """Raises DefinitionError, naming what is asked for, if the operator cannot do it."""
    if operator not in get_args(Operator):
        raise DefinitionError(
            f"operator={operator!r}: it must be {' or '.join(map(repr, get_args(Operator)))}."
        )
    if timeout not in TIMEOUTS:
        raise DefinitionError(f"timeout={timeout!r}: it must be None, 'processing' or 'event'.")
    if operator == "transformWithState" and definition.library is not None:
        raise DefinitionError(
            f"{definition.name} gets many keys in a call, which transformWithState has not: use "
            "operator='applyInPandasWithState'."
        )
    if operator == "transformWithState":
        _check_parts(definition, timeout)
        if initial_state and definition.initial_state is None:
            raise DefinitionError(
                f"initial_state is given, but {definition.name} has no method "
                "handleInitialState(key, initial, state): add it, or give no initial_state."
            )
    elif initial_state:
        raise DefinitionError(
            "initial_state needs operator='transformWithState': applyInPandasWithState has none."
        )


def _check_parts(definition: Definition, timeout: Any) -> None:
    codec = definition.state_codec(UTC)
    for name, part in codec.parts.items():
        where = f"{codec.name}.{name}"
        if name == STATE:
            raise DefinitionError(
                f"{where}: with operator='transformWithState' a part is a state variable, and that "
                "name is taken by the rest of the state. Rename it."
            )
        if part.ttl is None:
            continue
        if part.ttl.time == "event":
            raise DefinitionError(
                f"{where} has time='event', but the time to live of a state variable of "
                "transformWithState is one of processing time. Use time='processing', or "
                "operator='applyInPandasWithState'."
            )
        if timeout == "event":
            raise DefinitionError(
                f"{where} has a time to live, and the query timeout='event': transformWithState "
                "has one clock for both. Use timeout='processing', or "
                "operator='applyInPandasWithState'."
            )
    if codec.parts and codec.evolution.migrations:
        raise DefinitionError(
            f"{codec.name} has migrations and parts: with operator='transformWithState' the parts "
            "are not in the document that a migration gets. Drop the migrations, or use "
            "operator='applyInPandasWithState'."
        )


def check_names(names: Sequence[str]) -> None:
    """Raises DefinitionError for grouping columns of one name."""
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"by= has {name!r} twice: name each grouping column once.")


def check_initial(keys: StructType, rows: StructType, *, typed: bool) -> None:
    """Raises DefinitionError for an initial state that has not the grouping columns of the rows.

    Where rows are not `typed`, their values gave the types, so that an int may be a bigint.
    """
    for field in keys.fields:
        if field.name not in rows.names:
            raise DefinitionError(
                f"initial_state has no column {field.name}, which the rows are grouped by; it has "
                f"{', '.join(rows.names)}."
            )
        found = rows[field.name].dataType
        if found != field.dataType and (typed or not alike(found, field.dataType)):
            raise DefinitionError(
                f"initial_state.{field.name} is {found.simpleString()}, and the rows are grouped "
                f"by a {field.dataType.simpleString()}: cast it."
            )


def check_keys(keys: StructType) -> None:
    """Raises DefinitionError for a key that `transformWithState` cannot have."""
    for field in keys.fields:
        if isinstance(field.dataType, DayTimeIntervalType | YearMonthIntervalType):
            raise DefinitionError(
                f"by={field.name!r} is {field.dataType.simpleString()}, which transformWithState "
                "has no key for. Group by a number of units, or use "
                "operator='applyInPandasWithState'."
            )


def check_spark() -> None:
    """Raises SessionError where PySpark has no `transformWithState` of rows."""
    if not hasattr(GroupedData, "transformWithState"):
        raise SessionError(
            "operator='transformWithState' needs Spark 4.1 or newer: this pyspark is "
            f"{pyspark.__version__}, whose transformWithStateInPandas takes no rows. Use "
            "operator='applyInPandasWithState'."
        )


def check_output_batches(
    setting: Callable[[str, str], Any], operator: Operator, version: str, *, many_keys: bool
) -> None:
    """Refuses settings with which Spark's own operator puts out other rows than the function does.

    They have Spark slice each batch of output. In 4.1 and 4.2 the last slice may be the whole
    batch, which is closed before the next one is sliced; and slices of `applyInPandasWithState`
    have lost how many rows they have. The operators for many keys do not slice.

    Args:
        setting: gives a setting of the session, or the default.
        operator: of Spark.
        version: of the Spark that runs the query.
        many_keys: whether an operator for many keys is sure to run.

    Raises:
        SessionError: one is set, and Spark's own operator may run.
    """
    if many_keys or not version.startswith(("4.1.", "4.2.")):
        return
    for key, does in _SLICED.items():
        most = str(setting(key, "-1"))
        if _MORE_THAN_NONE.match(most):
            raise SessionError(
                f"{key} is {most}, and with it {operator} of Spark {version} {does}. Unset it, or "
                f"call with many keys: {_UNSLICED[operator]}."
            )


def has_many_variables(setting: Callable[[str, str], Any], version: str) -> bool:
    """Whether the operator for many keys of `transformWithState` is there, on Spark 4.1 or newer.

    `check_session` has found the session extension then.
    """
    return not version.startswith("4.1.") and str(setting(PROVIDER_KEY, "")) == PROVIDER_CLASS


def has_extension(setting: Callable[[str, str], Any]) -> bool:
    """Named itself, or by the plugin, which a builder's own list of extensions hides."""
    named = ((EXTENSIONS_KEY, EXTENSION_CLASS), (PLUGINS_KEY, PLUGIN_CLASS))
    return any(
        name in [listed.strip() for listed in str(setting(key, "") or "").split(",")]
        for key, name in named
    )


def check_session(setting: Callable[[str, str], Any]) -> None:
    """Refuses a session that cannot run `transformWithState`.

    `setting` gives a setting of the session, or the default.

    Raises:
        SessionError: its provider cannot.
        MissingLibraryError: Spark's own part in Python cannot.
    """
    needed(
        "google.protobuf",
        extra="tws",
        what="operator='transformWithState'",
        library="protobuf",
    )
    provider = str(setting(PROVIDER_KEY, ""))
    if provider == PROVIDER_CLASS:
        if not has_extension(setting):
            raise SessionError(
                f"operator='transformWithState' with {PROVIDER_CLASS} needs the session extension "
                f"{EXTENSION_CLASS}, and this session was made without it: make it with "
                f"bucketstate.configure(builder), or with {PLUGINS_KEY}={PLUGIN_CLASS}."
            )
    elif provider != _ROCKSDB:
        raise SessionError(
            f"operator='transformWithState' runs with {PROVIDER_CLASS} or {_ROCKSDB}, and "
            f"{PROVIDER_KEY} is {provider or 'not set'}: call bucketstate.configure(builder) "
            "where the session is made."
        )
