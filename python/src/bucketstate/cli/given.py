"""What a shell gives as text: the key of `--key`, and the type of `--decode`."""

from __future__ import annotations

import argparse
import json
from decimal import Decimal
from typing import Any

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.errors import InvalidArgumentError
from bucketstate.imports import NAMED, imported


def state_of(text: str, option: str = "--decode") -> Any:
    """`package.module:Class` as that class, imported as from the current folder; else a DDL text.

    Raises InvalidArgumentError for a class that cannot be imported.
    """
    if NAMED.fullmatch(text) is None:
        return text
    try:
        return imported(text, option)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"{error} A DDL text does, too, such as 'total long, last timestamp'."
        ) from error


_ROWS_OF_A_TABLE = 20
MORE = "... more than these {}: --limit shows others, --limit 0 all of them"


def limit_of(arguments: argparse.Namespace) -> int:
    """How many rows are printed at most, 0 for all of them, which programs want."""
    given: int | None = arguments.limit
    if given is None:
        return 0 if arguments.json or getattr(arguments, "csv", False) else _ROWS_OF_A_TABLE
    return given


_NUMBERS = (
    T.ByteType,
    T.ShortType,
    T.IntegerType,
    T.LongType,
    T.FloatType,
    T.DoubleType,
    T.DecimalType,
    T.DayTimeIntervalType,
)


def key_arguments(checkpoint: Checkpoint, arguments: argparse.Namespace) -> dict[str, Any]:
    """`key` and `user_key` for `Checkpoint.scan`; none of them where no key is asked for.

    Raises InvalidArgumentError for a text that is no key of this state.
    """
    if arguments.key is None:
        for option, given in (("history", arguments.history), ("user-key", arguments.user_key)):
            if given:
                raise InvalidArgumentError(f"--{option} is of one key: give --key, too.")
        return {}
    if arguments.timers:
        raise InvalidArgumentError("--key is of state, not of timers: leave one of them out.")
    operator = arguments.operator
    version = checkpoint.version_at(arguments.version, arguments.batch)
    name = arguments.state_var
    if arguments.decode and checkpoint.operator_at(operator, version).transform:
        from bucketstate.checkpoint.source import DOCUMENTS

        name = DOCUMENTS
    if name:
        variable = checkpoint.state_variable(name, operator, version)
        key, user_key = variable.key, variable.user_key
    else:
        family = arguments.column_family
        found = checkpoint.schema(
            operator, store=arguments.store, column_family=family, version=version
        )
        key, user_key = found.key, found.user_key
    given = {"key": key_of(arguments.key, key, "--key")}
    if arguments.user_key is not None:
        if user_key is None:
            raise InvalidArgumentError("--user-key is of a map variable: leave it out.")
        given["user_key"] = key_of(arguments.user_key, user_key, "--user-key")
    return given


def key_of(text: str, schema: T.StructType, option: str) -> Any:
    """JSON of the columns, by name or in their order; of a single column its value alone, too.

    Values are written as `show --json` has them: times in ISO 8601, decimals as text, bytes in hex.
    """
    try:
        found = json.loads(text, parse_float=Decimal)
    except ValueError:
        found = None
    if isinstance(found, dict) and found and set(found) <= set(schema.names):
        return found
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
    if len(schema) == 1:
        kind = schema[0].dataType
        if isinstance(found, dict) and not isinstance(kind, (T.StructType, T.StringType)):
            raise InvalidArgumentError(
                f"{option} {text!r} has not the column of the key: give the value of {columns}, or "
                f'JSON of it as {{"{schema.names[0]}": ...}}.'
            )
        plain = isinstance(found, (int, float, Decimal)) and isinstance(kind, _NUMBERS)
        nested = isinstance(kind, (T.BooleanType, T.StructType, T.ArrayType))
        # A text is one whatever it looks like.
        return (found if plain or (nested and found is not None) else text,)
    if isinstance(found, list):
        return tuple(found)
    raise InvalidArgumentError(
        f"{option} {text!r} has not the columns of the key: give JSON of {columns}, by name as "
        f'{{"{schema.names[0]}": ...}} or in that order as [...].'
    )
