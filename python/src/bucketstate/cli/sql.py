"""`bucketstate sql`: the state, its changes and timers, asked for in SQL by DuckDB."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.dataset import ScanDataset
from bucketstate.checkpoint.selection import CHANGES, DIFF, STATE
from bucketstate.checkpoint.views import View, views
from bucketstate.cli.export import standard_output, streamed
from bucketstate.cli.given import MORE, limit_of, state_of
from bucketstate.cli.terminal import console
from bucketstate.cli.terminal.output import while_read
from bucketstate.cli.terminal.rows import as_json, as_text, records
from bucketstate.cli.terminal.telling import tell
from bucketstate.cli.terminal.usage import EXIT_OK
from bucketstate.errors import InvalidArgumentError
from bucketstate.optional import needed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_WHOLE = pa.decimal128(38, 0)
"""What DuckDB makes of sums of whole numbers."""


def sql(arguments: argparse.Namespace) -> int:
    duckdb = needed("duckdb", extra="duckdb", what="`bucketstate sql`")
    checkpoint = Checkpoint(arguments.checkpoint)
    asked = _Asked(duckdb, checkpoint, arguments)
    if arguments.query is None:
        asked.list_views(json=arguments.json)
        return EXIT_OK
    with asked.told():
        reader = asked.answer(arguments.query)
        if reader is not None:
            _print(reader, arguments)
    return EXIT_OK


class _Asked:
    """A database in memory whose tables are read from the checkpoint when a query has them."""

    def __init__(self, duckdb: Any, checkpoint: Checkpoint, arguments: argparse.Namespace) -> None:
        self._duckdb = duckdb
        self._database: DuckDBPyConnection = duckdb.connect()
        # Names of tables are those of the checkpoint, not of Python's variables.
        self._database.execute("set python_enable_replacements = false")
        self._database.execute("set timezone = 'UTC'")
        version = checkpoint.version_at(arguments.version, arguments.batch)
        self._views = views(checkpoint, version, arguments.operator)
        decode = state_of(arguments.decode) if arguments.decode else None
        self._datasets: dict[str, ScanDataset] = {}
        for view in self._of_state(decode):
            given = view.selection | {"version": version}
            if given["kind"] in (CHANGES, DIFF):
                given["since"] = arguments.since
            dataset = ScanDataset(checkpoint.scan(**given))
            self._datasets[view.name] = dataset
            with self.told():
                self._database.register(view.name, dataset)

    def _of_state(self, decode: Any) -> list[View]:
        """The views, of which those of states are decoded if that is asked for."""
        if decode is None:
            return self._views
        if not any(view.name == STATE for view in self._views):
            raise InvalidArgumentError(
                "--decode is of the table state, and there is none: leave it out."
            )
        made = {STATE: STATE, DIFF: DIFF, f"{STATE}_{DIFF}": DIFF}
        self._views = [
            View(
                view.name,
                f"{view.what}, decoded",
                {
                    "kind": made[view.name],
                    "operator": view.selection["operator"],
                    "decode": decode,
                },
            )
            if view.name in made
            else view
            for view in self._views
        ]
        return self._views

    @contextmanager
    def told(self) -> Iterator[None]:
        """What reading raised as it is; what is wrong with the query as a wrong argument."""
        try:
            yield
        except (self._duckdb.Error, pa.ArrowException) as error:
            for dataset in self._datasets.values():
                if dataset.failure is not None:
                    raise dataset.failure from error
            raise InvalidArgumentError(str(error)) from error

    def answer(self, query: str) -> pa.RecordBatchReader | None:
        """The rows of the last statement; None for one that has none."""
        relation = self._database.sql(query)
        if relation is None:
            return None
        reader = pa.RecordBatchReader.from_stream(relation)
        fields = zip(_unlike(reader.schema.names), reader.schema, strict=True)
        schema = pa.schema([field.with_name(name) for name, field in fields])
        batches = (pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in reader)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def list_views(self, *, json: bool) -> None:
        rows = []
        for view in self._views:
            name = self._named(view.name)
            columns = self._columns(name)
            if json:
                print(as_json({"table": view.name, "what": view.what, "columns": columns}))
            else:
                typed = [f"{column} {kind}" for column, kind in columns.items()]
                rows.append([name, view.what, ", ".join(typed)])
        if not json:
            console.show("tables", ["table", "rows are", "columns"], rows)

    def _named(self, name: str) -> str:
        """The name as SQL takes it."""
        found = self._database.execute(
            "select 1 from duckdb_keywords() "
            "where keyword_name = ? and keyword_category = 'reserved'",
            [name.lower()],
        ).fetchone()
        plain = found is None and not name[0].isdigit()
        return name if plain else f'"{name}"'

    def _columns(self, name: str) -> dict[str, str]:
        with self.told():
            found = self._database.execute(f"describe {name}").fetchall()
        return {column: kind for column, kind, *_ in found}


def _print(reader: pa.RecordBatchReader, arguments: argparse.Namespace) -> None:
    limit = limit_of(arguments)
    if arguments.csv:
        first = _First(reader, limit)
        streamed(first.rows, standard_output(), "csv")
        if first.more:
            tell(MORE.format(limit))
        return
    rows = (_whole(row, reader.schema) for batch in reader for row in records(batch))
    if arguments.json:
        for number, row in enumerate(while_read(rows)):
            if limit and number == limit:
                # Standard output is rows alone.
                tell(MORE.format(limit))
                break
            print(as_json(row))
        return
    # With the one after, which says that there are more.
    some = islice(rows, limit + 1) if limit else rows
    cells = [[as_text(value) for value in row.values()] for row in some]
    shown = cells[:limit] if limit else cells
    console.show("", reader.schema.names, shown)
    if len(cells) > len(shown):
        print(MORE.format(limit))
    elif not cells:
        print("no rows")


class _First:
    """The first rows of a reader, all with a limit of 0, and whether there were more."""

    def __init__(self, reader: pa.RecordBatchReader, limit: int) -> None:
        self.more = False
        self._reader = reader
        self._limit = limit
        self.rows = pa.RecordBatchReader.from_batches(reader.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        left = self._limit
        for batch in self._reader:
            if not self._limit:
                yield batch
                continue
            if batch.num_rows > left:
                self.more = True
                yield batch.slice(0, left)
                return
            left -= batch.num_rows
            yield batch


def _unlike(names: Sequence[str]) -> list[str]:
    """The names, of which those that were there before get a number: `sum_2`."""
    found: list[str] = []
    for name in names:
        made, number = name, 2
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found


def _whole(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """The row with whole numbers for sums of such."""
    return {
        field.name: int(value) if field.type == _WHOLE and isinstance(value, Decimal) else value
        for field, value in zip(schema, row.values(), strict=True)
    }
