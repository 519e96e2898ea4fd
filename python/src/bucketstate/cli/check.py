"""`bucketstate check`: a stateful function is looked at before a query has it, without Spark."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from bucketstate.cli.terminal.telling import tell
from bucketstate.cli.terminal.usage import EXIT_FOUND, EXIT_OK
from bucketstate.errors import InvalidArgumentError, SessionError
from bucketstate.imports import imported
from bucketstate.optional import needed

if TYPE_CHECKING:
    from bucketstate.stateful import Definition


def check(arguments: argparse.Namespace) -> int:
    """Says of each function what it is, or what keeps it from running."""
    needed("pyspark", extra="spark", what="`bucketstate check`")
    code = EXIT_OK
    for name in arguments.functions:
        found, problem = _of(name, arguments)
        if arguments.json:
            print(json.dumps({"function": name, "problem": problem} | (found or {})))
        elif found is not None:
            kept = f"keeps {found['state']}"
            put_out = "no output" if found["output"] is None else f"puts out {found['output']}"
            print(f"{name} is fine: {kept}; {put_out}")
        else:
            tell(f"{name}: {problem}")
        code = code if problem is None else EXIT_FOUND
    return code


def _of(name: str, arguments: argparse.Namespace) -> tuple[dict[str, object] | None, str | None]:
    """What a function is, or what is wrong with it."""
    # Known only now, since it takes pyspark.
    from bucketstate.stateful import DefinitionError, Recipe
    from bucketstate.stateful.checking import checked

    fn = imported(name, "FUNCTION")
    if isinstance(fn, Recipe) and arguments.schema is None:
        raise InvalidArgumentError(
            f"{name} takes its types from the rows' columns: give them as --schema."
        )
    by = arguments.by.split(",") if arguments.by else []
    try:
        made = checked(
            fn,
            by=[column.strip() for column in by],
            schema=arguments.schema,
            operator=arguments.operator,
            timeout=arguments.timeout,
            state=arguments.state,
            output=arguments.output,
        )
    except (DefinitionError, SessionError) as error:
        return None, str(error)
    return _told(made), None


def _told(made: Definition) -> dict[str, object]:
    from bucketstate.stateful import output_schema, state_schema

    output = None if made.output is None else _columns(output_schema(made.output))
    return {"state": _columns(state_schema(made.state)), "output": output}


def _columns(schema: object) -> str:
    fields = getattr(schema, "fields", [])
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
