"""Conditions and columns on the command line."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    StringType,
    StructType,
    TimestampType,
)

from bucketstate.cli import main
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown
from tests.unit.checkpoint.test_states import row_of, visits, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def asked(*given: str, code: int = 0) -> Any:
        assert main(["show", str(tmp_path), "--json", "--limit", "0", *given]) == code
        out = capsys.readouterr()
        return out.err if code else [json.loads(line) for line in out.out.splitlines()]

    return asked


def test_conditions(tmp_path: Path, shown: Any) -> None:
    held = [(key[0], value) for _, key, value in grown(tmp_path).rows()]
    found = shown("--where", "value.total >= 50 and value.count != 3 AND value.count<5")
    assert sorted(row["key"]["key"] for row in found) == sorted(
        k for k, (n, total) in held if total >= 50 and n != 3 and n < 5
    )
    one, two = held[0][0], held[1][0]
    for text in (f"key.key = '{one}'", f"key.key={one}", f"key.key == '{one}'"):
        assert [row["key"]["key"] for row in shown("--where", text)] == [one]
    both = shown("--where", f"key.key in ('{one}', {two})", "--columns", "key.key, value.total")
    assert {row["key.key"] for row in both} == {one, two}
    assert set(both[0]) == {"key.key", "value.total"}
    none_of = shown("--where", f"key.key not in ('{one}')", "--columns", "key")
    assert len(none_of) == len(held) - 1


VALUE = (
    StructType()
    .add("at", TimestampType())
    .add("day", DateType())
    .add("price", DecimalType(10, 2))
    .add("raw", BinaryType())
    .add("real", DoubleType())
    .add("yes", BooleanType())
)


@pytest.mark.parametrize(
    "text",
    [
        "value.at < '2024-01-02 00:00'",
        "value.at < 2024-01-02T00:00:00+01:00",
        "value.at < 2024-01-02",
        "value.at = 2024-01-01",
        "value.at in (2024-01-01, '2024-01-03 00:00:00.5')",
        "value.day = 2024-01-01",
        "value.price = 2.50",
        "value.price < 3",
        "value.raw = 00ff",
        "value.real > 0.25",
        "value.yes = true",
        "key.key = 'it''s = (1)'",
    ],
)
def test_values_of_every_type(tmp_path: Path, shown: Any, text: str) -> None:
    at = int(datetime(2024, 1, 1).timestamp() * 10**6)
    built = Built(tmp_path, StructType().add("key", StringType()), VALUE)
    built.batch(
        {
            ("it's = (1)",): (at, 19_723, Decimal("2.50"), b"\0\xff", 0.5, True),
            ("b",): (at + 10**12, 19_735, Decimal("3.50"), b"", 0.25, False),
        }
    )
    assert [row["key"]["key"] for row in shown("--where", text)] == ["it's = (1)"]


def test_what_is_not_clear(tmp_path: Path, shown: Any) -> None:
    grown(tmp_path)
    for text, told in (
        ("value.total", "is not clear at 'its end': give conditions such as"),
        ("value.total ~ 3", "is not clear at '~ 3'"),
        ("value.total = 3 or value.total = 4", "is not clear at 'or value.total = 4'"),
        ("value.total in 3", "is not clear at '3'"),
        ("value.total in (3", "is not clear at 'its end'"),
        ("value.total = many", "--where has 'many' for value.total, which is int64"),
        ("total = 3", "--where has the column 'total', which is not there. There are: key, key.k"),
        ("", "--where '' is not clear"),
        ("key.key > '\udcff'", "key.key is string: give a value of that type"),
        ("key.key in ('\udcff')", "key.key is string: give values of that type"),
    ):
        assert told in shown("--where", text, code=2)
    assert "columns has the column 'total'" in shown("--columns", "total", code=2)


def test_of_states_and_of_an_export(tmp_path: Path, shown: Any) -> None:
    written(tmp_path, {f"u{n}": row_of(visits(n)) for n in range(5)})
    decode = "--decode", "total long"
    (one,) = shown(*decode, "--where", "state.total = 3", "--columns", "key.user,state.total")
    assert one == {"key.user": "u3", "state.total": 3}
    out = tmp_path / "some.parquet"
    where = "--where", "state.total > 2", "--columns", "state.total"
    assert main(["export", str(tmp_path), str(out), *decode, *where]) == 0
    assert sorted(pq.read_table(out)["state.total"].to_pylist()) == [3, 4]
