"""Compares what a stream has put out with what DuckDB says over the same events.

Each query has a file of SQL here, over the tables `person`, `auction` and `bid`; one whose rows
cannot be foreseen has another, `-seen`, that says what of them can. Queries in append mode put out
what has ended, so their tables have no closing events, which nothing ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import duckdb

from bucketstate_nexmark.events.model import AUCTION, BID, PERSON

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bucketstate_nexmark.events.files import Files
    from bucketstate_nexmark.queries.form import Form

BATCH = "batch"
"""The column that says which batch has put out a row: a folder's name."""

_TABLES = {"person": PERSON, "auction": AUCTION, "bid": BID}
_SHOWN = 3


@dataclass(frozen=True)
class Comparison:
    """How many rows the answer has, and how many of them a stream has not, or beyond them."""

    rows: int
    missing: int
    unexpected: int
    examples: tuple[str, ...] = ()
    """Some of those that are missing or unexpected."""

    @property
    def equal(self) -> bool:
        return self.missing == self.unexpected == 0


def compare(form: Form, events: Files, output: Path) -> Comparison:
    """The answer of a form beside what its stream has put out into a folder."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        closing = form.mode == "update"
        read = [*events.batches, *([events.closing] if closing else [])]
        for table, kind in _TABLES.items():
            _make_view(connection, table, kind, read)
        answer = _query(f"{form.query}.sql")
        connection.execute(f"CREATE TEMP TABLE answer AS {_plain(connection, answer)}")
        _make_seen(connection, form, output)
        seen = _query(f"{form.query}-seen.sql") or "SELECT * FROM seen"
        named = _listed(_columns(connection, "FROM answer"))
        plain = _plain(connection, f"SELECT {named} FROM ({seen})")
        connection.execute(f"CREATE TEMP TABLE given AS {plain}")
        missing = f"SELECT {named} FROM answer EXCEPT ALL SELECT {named} FROM given"
        unexpected = f"SELECT {named} FROM given EXCEPT ALL SELECT {named} FROM answer"
        return Comparison(
            _count(connection, "FROM answer"),
            _count(connection, missing),
            _count(connection, unexpected),
            (
                *_examples(connection, "missing", missing),
                *_examples(connection, "unexpected", unexpected),
            ),
        )


def _make_view(
    connection: duckdb.DuckDBPyConnection, table: str, kind: int, read: Sequence[Path]
) -> None:
    paths = ", ".join(f"'{path}'" for path in read)
    connection.execute(
        f"CREATE TEMP VIEW {table} AS SELECT UNNEST({table}), date_time FROM ("
        f"SELECT {table}, date_time::TIMESTAMP AS date_time FROM read_parquet([{paths}]) "
        f"WHERE event_type = {kind})"
    )


def _make_seen(connection: duckdb.DuckDBPyConnection, form: Form, output: Path) -> None:
    """All that was put out; in update mode, of each key what was put out last."""
    rows = f"SELECT * FROM read_parquet('{output}/*/*.parquet', hive_partitioning = true)"
    if form.mode == "update":
        # Two rows of a key in one batch would be one too many, and both stay.
        keys = _listed(form.keys)
        rows += f" QUALIFY rank() OVER (PARTITION BY {keys} ORDER BY {BATCH} DESC) = 1"
    connection.execute(f"CREATE TEMP VIEW seen AS {rows}")


def _query(name: str) -> str:
    """The SQL of a file; empty if there is none of this name."""
    file = files("bucketstate_nexmark.answers") / name
    return file.read_text("utf-8") if file.is_file() else ""


def _listed(names: Iterable[str]) -> str:
    """Names as SQL takes them: one may be a word of the language."""
    return ", ".join(f'"{name}"' for name in names)


def _columns(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """The columns of a query, and their types."""
    described = connection.execute(f"DESCRIBE {query}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def _plain(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """A query with values that are compared alike: whole numbers of one type, times as numbers."""
    parts = []
    for column, kind in _columns(connection, query).items():
        name = _listed([column])
        if kind.startswith("TIMESTAMP"):
            parts.append(f"epoch_us({name}) AS {name}")
        elif kind in ("TINYINT", "SMALLINT", "INTEGER", "HUGEINT"):
            parts.append(f"{name}::BIGINT AS {name}")
        elif kind == "DOUBLE":
            parts.append(f"round({name}, 4) AS {name}")
        else:
            parts.append(name)
    return f"SELECT {', '.join(parts)} FROM ({query})"


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM ({query})").fetchone()
    assert found is not None
    return int(found[0])


def _examples(connection: duckdb.DuckDBPyConnection, what: str, query: str) -> list[str]:
    found = connection.execute(f"SELECT * FROM ({query}) LIMIT {_SHOWN}").fetchall()
    return [f"{what}: {row}" for row in found]
