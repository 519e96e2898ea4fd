"""State variables and timers of transformWithState, read from checkpoints made without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import DoubleType, StringType, StructType

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import (
    DamagedFileError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
)
from tests.kit.checkpoints import Built
from tests.kit.values.own_types import own
from tests.kit.variables import COUNT, KEY, NUMBER, Kept, State, Variables, plain_key, stored

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000

FIRST = State(
    count={"a": (2, "two"), "b": (1, None)},
    last={"a": (7, HOUR), "b": (8, 2 * HOUR)},
    every={"a": [1, 2, 2], "b": [3]},
    recent={"a": [(1, 5 * HOUR), (2, 4 * HOUR)], "b": [(3, HOUR)]},
    plain={("a", 1): 10, ("a", 2): 20, ("b", 1): 30, ("b", -4): 40},
    by_value={("a", 1): (10, HOUR), ("b", 1): (30, 3 * HOUR)},
    timers={("a", HOUR), ("a", 2 * HOUR), ("b", HOUR)},
)
SECOND = State(
    count={"a": (3, "three")},
    last={"a": (9, 3 * HOUR)},
    every={"a": [1, 2, 2, 5]},
    recent={"a": [(1, 5 * HOUR)]},
    plain={("a", 1): 11},
    by_value={("a", 1): (10, HOUR)},
    timers={("a", 2 * HOUR)},
)


def grown(root: Path, *, evolving: bool = False) -> Variables:
    made = Variables(root, evolving=evolving)
    made.batch(made.families(FIRST))
    made.batch(made.families(SECOND))
    return made


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def moment(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


@pytest.mark.parametrize("evolving", [False, True])
@pytest.mark.parametrize(("version", "state"), [(1, FIRST), (2, SECOND), (None, SECOND)])
def test_every_variable_has_its_columns(
    tmp_path: Path, evolving: bool, version: int | None, state: State
) -> None:
    grown(tmp_path, evolving=evolving)
    checkpoint = Checkpoint(tmp_path)

    def read(name: str) -> Any:
        return checkpoint.scan(version=version, state_var=name).to_arrow()

    assert read("count").column_names == ["key", "value", "partition_id"]
    assert rows(read("count")) == rows_of(
        ({"key": k}, {"n": n, "told": told}, 0) for k, (n, told) in state.count.items()
    )
    assert rows(read("last")) == rows_of(
        ({"key": k}, expiring(v, at), 0) for k, (v, at) in state.last.items()
    )
    assert read("every").column_names == ["key", "list_element", "partition_id"]
    assert rows(read("every")) == rows_of(
        ({"key": k}, {"v": v}, 0) for k, of in state.every.items() for v in of
    )
    assert rows(read("recent")) == rows_of(
        ({"key": k}, expiring(v, at), 0) for k, of in state.recent.items() for v, at in of
    )
    entries = ["key", "user_map_key", "user_map_value", "partition_id"]
    assert read("plain").column_names == entries
    assert rows(read("plain")) == rows_of(
        ({"key": k}, {"v": u}, {"v": v}, 0) for (k, u), v in state.plain.items()
    )
    assert rows(read("by_value")) == rows_of(
        ({"key": k}, {"v": u}, expiring(v, at), 0) for (k, u), (v, at) in state.by_value.items()
    )
    timers = checkpoint.scan("timers", version=version).to_arrow()
    assert timers.column_names == ["key", "expiration_timestamp_ms", "partition_id"]
    assert rows(timers) == rows_of(({"key": k}, at, 0) for k, at in state.timers)


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


def expiring(value: int, at: int) -> dict[str, Any]:
    return {"value": {"v": value}, "ttlExpirationMs": at}


def test_lists_and_maps_as_wholes(tmp_path: Path) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    lists = checkpoint.scan(version=1, state_var="every", flatten=False).to_arrow()
    assert rows(lists) == rows_of(
        ({"key": k}, [{"v": v} for v in of], 0) for k, of in FIRST.every.items()
    )
    maps = checkpoint.scan(version=1, state_var="plain", flatten=False).to_arrow()
    assert maps.column_names == ["key", "map_value", "partition_id"]
    found = {row["key"]["key"]: row["map_value"] for row in maps.to_pylist()}
    assert maps.num_rows == len(found) == 2
    for key, of in found.items():
        entries = [({"v": u}, {"v": v}) for (k, u), v in FIRST.plain.items() if k == key]
        assert sorted(of, key=repr) == sorted(entries, key=repr)
    value = checkpoint.scan(version=1, state_var="count", flatten=False).to_arrow()
    assert value.column_names == ["key", "value", "partition_id"]


def test_many_maps_of_one_bucket_stay_apart(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    state = State(plain={(f"k{i % 50}", i): i for i in range(1000)})
    made.batch(made.families(state))
    maps = Checkpoint(tmp_path, memory=1).scan(state_var="plain", flatten=False).to_arrow()
    found = {
        row["key"]["key"]: {k["v"]: v["v"] for k, v in row["map_value"]} for row in maps.to_pylist()
    }
    assert maps.num_rows == len(found) == 50
    assert all(found[f"k{n}"] == {i: i for i in range(n, 1000, 50)} for n in range(50))


def test_when_values_and_timers_expire(tmp_path: Path) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)

    def expiry(name: str, **how: Any) -> dict[str, Any]:
        table = checkpoint.scan(version=1, state_var=name, times=True, **how).to_arrow()
        assert table.column_names[-1] == "expires_at"
        return {row["key"]["key"]: row["expires_at"] for row in table.to_pylist()}

    assert expiry("last") == {k: moment(at) for k, (_, at) in FIRST.last.items()}
    assert expiry("count") == {"a": None, "b": None}
    lists = {k: [moment(at) for _, at in of] for k, of in FIRST.recent.items()}
    assert expiry("recent", flatten=False) == lists
    assert expiry("by_value") == {k: moment(at) for (k, _), (_, at) in FIRST.by_value.items()}
    assert expiry("by_value", flatten=False) == {
        k: [moment(at)] for (k, _), (_, at) in FIRST.by_value.items()
    }
    timers = checkpoint.scan("timers", version=1, times=True).to_arrow()
    found = {(r["key"]["key"], r["expires_at"]) for r in timers.to_pylist()}
    assert found == {(k, moment(at)) for k, at in FIRST.timers}


def test_changes_of_variables(tmp_path: Path) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    changes = checkpoint.scan("changes", since=1, version=2, state_var="every").to_arrow()
    assert changes.column_names == [
        "batch_id",
        "change_type",
        "key",
        "list_element",
        "partition_id",
    ]
    found = [(r["change_type"], r["key"]["key"], r["list_element"]) for r in changes.to_pylist()]
    values: list[Any] = [{"v": 1}, {"v": 2}, {"v": 2}, {"v": 5}]
    assert [row[1:] for row in found if row[1] == "a"] == [("a", v) for v in values]
    assert [row[0] for row in found if row[1] == "a"] == ["update", *["append"] * 3]
    assert [row for row in found if row[1] == "b"] == [("delete", "b", None)]
    changes = checkpoint.scan("changes", since=1, version=2, state_var="plain").to_arrow()
    assert changes.column_names[2:5] == ["key", "user_map_key", "user_map_value"]
    found = [
        (r["change_type"], r["user_map_key"], r["user_map_value"])
        for r in changes.to_pylist()
        if r["key"]["key"] == "a"
    ]
    assert rows_of(found) == [("delete", {"v": 2}, None), ("update", {"v": 1}, {"v": 11})]


def test_differences_of_variables(tmp_path: Path) -> None:
    grown(tmp_path)
    found = (
        Checkpoint(tmp_path)
        .scan("diff", since=1, version=2, state_var="count")
        .to_arrow()
        .to_pylist()
    )
    assert {(r["change"], r["key"]["key"]) for r in found} == {("changed", "a"), ("removed", "b")}


def test_the_operator_tells_its_variables(tmp_path: Path) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    known = [(v.name, v.kind, v.ttl) for v in checkpoint.operator(0).state_variables]
    assert known == [
        ("by_value", "map", True),
        ("count", "value", False),
        ("every", "list", False),
        ("last", "value", True),
        ("plain", "map", False),
        ("recent", "list", True),
    ]
    typed = {v.name: v for v in checkpoint.state_variables()}
    assert typed.keys() == {name for name, _, _ in known}
    assert (typed["count"].key, typed["count"].value) == (own(KEY), own(COUNT))
    assert (typed["plain"].key, typed["plain"].user_key) == (own(KEY), own(NUMBER))
    assert {v.schema_ids for v in typed.values()} == {(0,)}


def test_internal_families_are_read_by_their_names(tmp_path: Path) -> None:
    grown(tmp_path)
    table = Checkpoint(tmp_path).scan(column_family="$min_recent").to_arrow()
    assert rows(table) == [({"key": "a"}, {"expirationMs": 5 * HOUR}, 0)]


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    grown(tmp_path / "tws")
    checkpoint = Checkpoint(tmp_path / "tws")
    known = "by_value, count, every, last, plain, recent"
    with pytest.raises(NoSuchStateError, match=f"no state variable 'nope'. There are: {known}."):
        checkpoint.scan(state_var="nope").to_arrow()
    with pytest.raises(NoSuchStateError, match=f"keeps its state in state variables.*{known}"):
        checkpoint.scan().to_arrow()
    with pytest.raises(InvalidArgumentError, match="state_var='count' and column_family='count'"):
        checkpoint.scan(state_var="count", column_family="count").to_arrow()
    Built(tmp_path / "sum").batch({("a",): (1, 1)})
    other = Checkpoint(tmp_path / "sum")
    with pytest.raises(NoSuchStateError, match=r"stateStoreSave.* has no state variables, only a"):
        other.scan(state_var="count").to_arrow()
    with pytest.raises(NoSuchStateError, match="has no timers: only a transformWithState has"):
        other.scan("timers").to_arrow()


def test_a_variable_that_no_partition_has_yet_is_empty(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    families = made.families(FIRST)
    for name in ("every", "plain", "$procTimers_keyToTimestamp"):
        del families[name]
    made.batch(families)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.scan(state_var="every").to_arrow().num_rows == 0
    assert checkpoint.scan(state_var="plain", flatten=False).to_arrow().num_rows == 0
    assert checkpoint.scan("timers").to_arrow().num_rows == 0


NEWER = StructType().add("came", StringType()).add("n", DoubleType())


def evolved(root: Path) -> Variables:
    """The value of `count` loses a field, gets one and is widened; elements of `every`, too."""
    made = grown(root, evolving=True)
    made.new_schemas(
        count=Kept(KEY, NEWER, value_id=1), every=Kept(KEY, NEWER, lists=True, value_id=1)
    )
    families = made.families(SECOND)
    families["count"][plain_key("c")] = made.row(NEWER, ("new", 0.5), 1)
    families["every"][plain_key("a")] += stored([made.row(NEWER, (None, 1.5), 1)])
    families["$rowCounter_every"][plain_key("a")] = made.row(
        StructType([made.kept["$rowCounter_every"].value.fields[0]]), (5,)
    )
    made.batch(families)
    return made


def test_rows_of_older_schemas_are_read_as_of_the_newest(tmp_path: Path) -> None:
    evolved(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.state_variable("count").schema_ids == (0, 1)
    assert rows(checkpoint.scan(state_var="count").to_arrow()) == [
        ({"key": "a"}, {"came": None, "n": 3.0}, 0),
        ({"key": "c"}, {"came": "new", "n": 0.5}, 0),
    ]
    (row,) = checkpoint.scan(state_var="every", flatten=False).to_arrow().to_pylist()
    old = {"came": None, "n": None}
    assert row["list_value"] == [old] * 4 + [{"came": None, "n": 1.5}]
    # A version is read as of the schema that it had.
    assert rows(checkpoint.scan(state_var="count", version=2).to_arrow()) == [
        ({"key": "a"}, {"n": 3, "told": "three"}, 0)
    ]
    assert checkpoint.verify().findings == ()


def test_a_schema_that_nobody_knows_is_damage(tmp_path: Path) -> None:
    made = grown(tmp_path, evolving=True)
    families = made.families(SECOND)
    families["count"][plain_key("a")] = made.row(COUNT, (1, "x"), 7)
    made.batch(families)
    with pytest.raises(DamagedFileError, match="of schema 7, and the schema files have 0"):
        Checkpoint(tmp_path).scan(state_var="count").to_arrow()
    report = Checkpoint(tmp_path).verify()
    assert any("of schema 7" in f.what for f in report.findings if f.severity == "error")


def test_a_missing_schema_file_says_so(tmp_path: Path) -> None:
    grown(tmp_path)
    (schema,) = (tmp_path / "state/0/_stateSchema/default").iterdir()
    schema.unlink()
    with pytest.raises(MissingFileError, match="without the schema of the state"):
        Checkpoint(tmp_path).scan(state_var="count").to_arrow()
