"""States that are given as rows, as the documents that a stateful function keeps."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from bucketstate.checkpoint.documents import Documents
from bucketstate.errors import RefusedMoveError
from bucketstate.move.given import _Documents, _fields, _parts, with_documents
from bucketstate.stateful.codec.ddl import parse_ddl
from bucketstate.stateful.codec.document import Clock, state_codec
from bucketstate.stateful.codec.kept import Kept as KeptRow
from bucketstate.stateful.errors import MigrationError, WrongTypeError
from tests.integration.upserted_states import Colour, Inner, Kept, Wide

CLOCK = Clock(now=0, watermark=None)


def wide() -> Wide:
    made = Wide(
        n=3,
        at=datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
        colours={Colour.BLUE, Colour.RED},
        inner=Inner(7, Colour.BLUE),
        by_name={"a": Inner(1), "b": Inner(2)},
    )
    made.last.update(5)
    made.recent.put([Colour.RED, Colour.BLUE, Colour.RED])
    made.counts.updateValue("x", 1)
    return made


def made_of(state: Any, rows: pa.RecordBatch, names: list[str] | None = None) -> list[Any]:
    given = {part: part for part in ("state", "version", "timers") if part in rows.schema.names}
    make = _Documents(state_codec(state, UTC), ["key"], names, given)
    (batch,) = make(iter([rows]))
    # Names that no column of a key has, whatever the key's own are.
    assert batch.schema.names == ["key", "value.version", "value.state"]
    assert batch.column("key").equals(rows.column("key"))
    _, versions, states = batch.columns
    return list(zip(versions.to_pylist(), states.to_pylist(), strict=True))


@pytest.mark.parametrize("value", [Wide(), wide()], ids=["defaults", "values"])
def test_what_a_scan_decodes_is_made_the_same_document(value: Wide) -> None:
    codec = state_codec(Wide, UTC)
    text = codec.dump(value, CLOCK)
    documents = Documents(Wide, beside=False)
    # As a scan reads it: sets have become lists, and dicts pairs.
    read = documents.value(KeptRow(1, -1, (), text), "k")
    states = documents.column([read], documents.names)
    rows = pa.RecordBatch.from_arrays([pa.array([1]), states], ["key", "state"])
    assert_same(made_of(Wide, rows), text)
    columns = [pa.array([1]), *(states.field(f.name) for f in fields(Wide))]
    names = [f.name for f in fields(Wide)]
    flat = pa.RecordBatch.from_arrays(columns, ["key", *names])
    assert_same(made_of(Wide, flat, names), text)


def assert_same(made: list[Any], text: str) -> None:
    """Decimals have as many digits as their column."""
    ((version, found),) = made
    assert version == 1
    codec = state_codec(Wide, UTC)
    assert codec.load(found, 1, CLOCK) == codec.load(text, 1, CLOCK)


def test_what_is_left_out_has_its_default() -> None:
    rows = pa.RecordBatch.from_pydict({"key": [1], "seen": [4]})
    assert made_of(Kept, rows, ["seen"]) == [(1, '{"seen":4,"total":0.0}')]


def test_documents_stay_as_they_are() -> None:
    text = '{"total": 1.5, "seen": 2}'
    rows = pa.RecordBatch.from_pydict({"key": [1], "state": [text], "version": [1]})
    assert made_of(Kept, rows) == [(1, text)]


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"state": [{"seen": "x"}]}, WrongTypeError, "field seen of Kept is str"),
        ({"state": [None]}, WrongTypeError, "Kept is None"),
        ({"state": ['{"seen":"x"}']}, WrongTypeError, "field seen"),
        ({"state": ["{}"], "version": [9]}, MigrationError, "version 9"),
        (
            {"state": [{"seen": 1}], "timers": [[{"at": 5}]]},
            WrongTypeError,
            "timers in column 'timers'",
        ),
    ],
)
def test_what_fits_not_names_its_key(
    columns: dict[str, list[Any]], error: type[Exception], said: str
) -> None:
    rows = pa.RecordBatch.from_pydict({"key": [77], **columns})
    with pytest.raises(error, match=said) as raised:
        made_of(Kept, rows)
    assert "timers" in columns or "77" in str(raised.value)


def far_key(state: str) -> pa.RecordBatch:
    """Of a year that Python has no time for, and Spark has."""
    at = pa.array([56_123 * 366 * 86_400_000_000], pa.timestamp("us", "UTC"))
    return pa.RecordBatch.from_arrays([at, pa.array([state])], ["key", "state"])


def test_a_key_beyond_python_s_years() -> None:
    text = '{"total": 1.5, "seen": 2}'
    assert made_of(Kept, far_key(text)) == [(1, text)]
    with pytest.raises(WrongTypeError, match=r"The state of \{'key': '\+58209-05-26T"):
        made_of(Kept, far_key('{"seen":"x"}'))


def test_a_document_whose_version_is_null() -> None:
    columns = {"key": [77], "state": ["{}"], "version": pa.array([None], pa.int32())}
    with pytest.raises(WrongTypeError, match=r"77.*column 'version' is null, expected the number"):
        made_of(Kept, pa.RecordBatch.from_pydict(columns))


class Asked:
    """A checkpoint whose key has these columns, and whether anybody had to read it."""

    def __init__(self, *columns: str) -> None:
        self.columns = columns
        self.times = 0

    def __call__(self) -> tuple[str, ...]:
        self.times += 1
        return self.columns


PARTS = {"state": "state", "version": "version", "timers": "timers"}


@pytest.mark.parametrize(
    ("columns", "key", "found", "times"),
    [
        ("s string, state string", ["s"], ["state"], 0),
        ("s string, state string, version int", ["s"], ["state", "version"], 1),
        ("s string, state string, version int", ["s", "version"], ["state"], 1),
        ("version int, seen bigint, total double", ["version"], [], 1),
        ("timers int, seen bigint", ["timers"], [], 1),
        ("state string, seen bigint", ["state"], [], 1),
        ("state string, seen bigint", ["seen"], ["state"], 1),
        # The key is given apart, as scans do.
        (
            "key struct<version int>, state string, version int",
            ["version"],
            ["state", "version"],
            0,
        ),
        ("`key.timers` int, state string, timers string", ["timers"], ["state", "timers"], 0),
        ("seen bigint", ["version"], [], 0),
    ],
)
def test_a_name_that_the_key_has_is_the_keys(
    columns: str, key: list[str], found: list[str], times: int
) -> None:
    asked = Asked(*key)
    assert _parts(parse_ddl(columns), ["seen", "total"], asked) == {n: PARTS[n] for n in found}
    assert asked.times == times


def test_parts_may_have_names_that_are_theirs_alone() -> None:
    columns = parse_ddl("state string, version int, `value.state` string, `value.version` int")
    found = _parts(columns, ["seen"], Asked("state", "version"))
    assert found == {"state": "value.state", "version": "value.version"}


@pytest.mark.parametrize(
    ("columns", "key", "found", "times"),
    [
        ("s string, seen bigint, total double", ["s"], ["seen", "total"], 1),
        # The key's own column is no field of the state, and is not taken from the rows.
        ("seen bigint, total double", ["seen"], ["total"], 1),
        ("seen bigint, other string", ["seen"], [], 1),
        # The key is given apart: a plain column of that name is the state's.
        ("key struct<seen bigint>, seen bigint", ["seen"], ["seen"], 0),
        ("`key.seen` bigint, seen bigint, total double", ["seen"], ["seen", "total"], 1),
        ("s string", ["s"], [], 0),
    ],
)
def test_a_field_that_the_key_has_is_the_keys(
    columns: str, key: list[str], found: list[str], times: int
) -> None:
    asked = Asked(*key)
    assert _fields(parse_ddl(columns), ["seen", "total"], asked) == found
    assert asked.times == times


class Rows:
    """A frame as far as rows with documents are made of one."""

    def __init__(self, columns: str) -> None:
        self.schema = parse_ddl(columns)

    def mapInArrow(self, make: Any, schema: Any) -> Any:  # noqa: N802
        return make, schema


def test_the_keys_column_stays_beside_the_state() -> None:
    asked = Asked("seen", "version")
    rows: Any = Rows("seen bigint, total double, version int")
    made_frame: Any = with_documents(rows, Kept, asked)
    make, schema = made_frame
    assert schema.names == ["seen", "version", "value.version", "value.state"]
    assert asked.times == 1
    batch = pa.RecordBatch.from_pydict({"seen": [7], "total": [1.5], "version": [3]})
    (made,) = make(iter([batch]))
    # The state's own field of that name has its default.
    assert made.column("value.state").to_pylist() == ['{"seen":0,"total":1.5}']


def test_rows_of_the_key_alone_have_no_state() -> None:
    rows: Any = Rows("seen bigint")
    with pytest.raises(RefusedMoveError, match=r"none of the fields of Kept.*'key\.<name>'"):
        with_documents(rows, Kept, Asked("seen"))
