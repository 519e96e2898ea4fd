"""What `verify` finds where state variables, their indexes and their schemas do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.verify.variables import Indexes
from tests.kit.rows import compact_row
from tests.kit.variables import (
    EXPIRING,
    EXPIRY,
    KEPT,
    KEY,
    LENGTH,
    MAP_KEY,
    NOTHING,
    NUMBER,
    VARIABLES,
    Families,
    Kept,
    State,
    Variables,
    plain_key,
    range_key,
    stored,
    timer_key,
)
from tests.unit.checkpoint.test_variables import FIRST, HOUR, SECOND, evolved, grown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql.types import StructType

    from bucketstate.checkpoint import Finding


def findings(root: Path, severity: str) -> list[Finding]:
    report = Checkpoint(root).verify()
    assert report.ok == all(f.severity != "error" for f in report.findings)
    return [f for f in report.findings if f.severity == severity]


@pytest.mark.parametrize("evolving", [False, True])
def test_a_sound_checkpoint(tmp_path: Path, evolving: bool) -> None:
    made = grown(tmp_path, evolving=evolving)
    report = Checkpoint(tmp_path).verify()
    assert report.findings == ()
    (restart,) = report.restarts
    assert restart.keys == sum(map(len, made.families(SECOND).values()))


def test_an_entry_that_was_removed_from_a_map_may_stay_in_the_index(tmp_path: Path) -> None:
    """As `removeKey` of Spark's maps leaves it."""
    made = Variables(tmp_path)
    families = made.families(FIRST)
    stale = range_key(2 * HOUR, MAP_KEY, (("b",), (1,)))
    families["$ttl_by_value"][stale] = row(NOTHING, None)
    made.batch(families)
    assert Checkpoint(tmp_path).verify().findings == ()


def test_keys_of_any_value_are_told_apart(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    names = ["", "\0", "\x1f", "\x1fa", "a\x1f", "é", "a" * 300]
    made.batch(made.families(State(last={n: (i, i) for i, n in enumerate(names)})))
    assert Checkpoint(tmp_path).verify().findings == ()


def test_a_family_that_was_not_read_whole_contradicts_none(tmp_path: Path) -> None:
    grown(tmp_path)
    indexes = Indexes(Checkpoint(tmp_path).operator_at(0).transform)
    keys = pa.array([{"key": "a"}])
    indexes.add("last", keys, pa.array([{"value": {"v": 1}, "ttlExpirationMs": HOUR}]))
    (told,) = indexes.contradictions()
    assert "'last' and '$ttl_last' do not agree" in told
    indexes.leave_out("$ttl_last")
    assert list(indexes.contradictions()) == []
    # The others are compared as before.
    indexes.add("every", keys, pa.array([[{"v": 1}]]))
    assert "'every'" in "".join(indexes.contradictions())


def gone(family: str, key: bytes) -> Callable[[Families, Variables], None]:
    def damage(families: Families, _: Variables) -> None:
        del families[family][key]

    return damage


def other(family: str, key: bytes, value: bytes) -> Callable[[Families, Variables], None]:
    def damage(families: Families, _: Variables) -> None:
        assert families[family][key] != value
        families[family][key] = value

    return damage


def moved(family: str, old: bytes, new: bytes) -> Callable[[Families, Variables], None]:
    def damage(families: Families, _: Variables) -> None:
        families[family][new] = families[family].pop(old)

    return damage


def row(schema: StructType, *values: Any) -> bytes:
    return compact_row(schema, values)


A, B = plain_key("a"), plain_key("b")
DAMAGE = {
    "an expiry is not in the index": (
        gone("$ttl_last", range_key(HOUR, KEY, ("a",))),
        "'last' and '$ttl_last' do not agree on when values expire: 2 and 1",
    ),
    "an expiry in the index is of no value": (
        gone("last", A),
        "'last' and '$ttl_last' do not agree on when values expire: 1 and 2",
    ),
    "an expiry in the index is another": (
        moved("$ttl_last", range_key(HOUR, KEY, ("a",)), range_key(HOUR + 1, KEY, ("a",))),
        "'last' and '$ttl_last' do not agree on when values expire: 2 each, but not the same",
    ),
    "a value has another expiry": (
        other("last", A, row(EXPIRING, (7,), 9 * HOUR)),
        "'last' and '$ttl_last' do not agree on when values expire: 2 each",
    ),
    "an entry of a map is not in the index": (
        gone("$ttl_by_value", range_key(3 * HOUR, MAP_KEY, (("b",), (1,)))),
        "'by_value' and '$ttl_by_value' do not agree on when values expire: 2 and 1",
    ),
    "a timer is not there by time": (
        gone("$procTimers_timestampToKey", range_key(HOUR, KEY, ("b",))),
        "do not agree on timers: 3 and 2",
    ),
    "a timer is not there by key": (
        gone("$procTimers_keyToTimestamp", timer_key("b", HOUR)),
        "do not agree on timers: 2 and 3",
    ),
    "a list is longer than counted": (
        other("$rowCounter_every", A, row(LENGTH, 2)),
        "'every' and '$rowCounter_every' do not agree on how long lists are",
    ),
    "a list lost an element": (
        other("recent", A, stored([row(EXPIRING, (2,), 4 * HOUR)])),
        "'recent' and '$count_recent' do not agree on how long lists are",
    ),
    "a list's next expiry is another": (
        other("$min_recent", A, row(EXPIRY, 5 * HOUR)),
        "'recent' and '$min_recent' do not agree on when the next element of a list expires",
    ),
    "a list's next expiry is not in the index": (
        gone("$ttl_recent", range_key(HOUR, KEY, ("b",))),
        "'$min_recent' and '$ttl_recent' do not agree on when the next element",
    ),
    "an element of a list expires at another time": (
        other("recent", B, stored([row(EXPIRING, (3,), 2 * HOUR)])),
        "'recent' and '$min_recent' do not agree on when the next element of a list expires",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_does_not_agree_is_an_error(tmp_path: Path, name: str) -> None:
    damage, expected = DAMAGE[name]
    made = Variables(tmp_path)
    families = made.families(FIRST)
    damage(families, made)
    made.batch(families)
    errors = findings(tmp_path, "error")
    assert any(expected in f.what and "1.changelog" in f.what for f in errors), errors


def test_a_whole_family_is_missing(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    families = made.families(FIRST)
    del families["$procTimers_timestampToKey"]
    made.batch(families)
    (error,) = findings(tmp_path, "error")
    assert "do not agree on timers: 3 and 0" in error.what


def test_a_family_without_a_schema(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    made.batch(made.families(FIRST) | {"stray": {A: row(NUMBER, 1)}})
    (error,) = findings(tmp_path, "error")
    assert "has 1 keys in the column family 'stray', of which no schema file" in error.what
    (restart,) = Checkpoint(tmp_path).verify().restarts
    assert restart.failure is None


def test_an_empty_family_without_a_schema_is_nothing(tmp_path: Path) -> None:
    made = Variables(tmp_path)
    made.batch(made.families(FIRST) | {"stray": {}})
    assert Checkpoint(tmp_path).verify().findings == ()


def test_a_variable_that_was_removed_keeps_its_schema(tmp_path: Path) -> None:
    made = grown(tmp_path)
    del made.kept["count"]
    made.new_schemas()
    made.write_metadata({k: v for k, v in VARIABLES.items() if k != "count"})
    made.batch(made.families(SECOND))
    assert Checkpoint(tmp_path).verify().findings == ()


def test_a_variable_that_no_schema_file_has(tmp_path: Path) -> None:
    made = grown(tmp_path)
    made.write_metadata(VARIABLES | {"forgotten": ("ValueState", False)})
    (error,) = findings(tmp_path, "error")
    assert "has no schema of the state variable 'forgotten'" in error.what


def test_a_missing_schema_file(tmp_path: Path) -> None:
    grown(tmp_path)
    (schema,) = (tmp_path / "state/0/_stateSchema/default").iterdir()
    schema.unlink()
    errors = findings(tmp_path, "error")
    assert any(f"{schema.name} is not there" in f.what for f in errors)


def test_an_older_schema_file_is_missing_and_nothing_is_of_it(tmp_path: Path) -> None:
    made = grown(tmp_path)
    made.new_schemas()
    made.batch(made.families(SECOND))
    (tmp_path / "state/0/_stateSchema/default/0_0").unlink()
    (warning,) = findings(tmp_path, "warning")
    assert "0_0 is not there, which the operator's metadata name" in warning.what
    assert findings(tmp_path, "error") == []


def test_an_older_schema_file_is_missing_and_values_are_of_it(tmp_path: Path) -> None:
    evolved(tmp_path)
    (tmp_path / "state/0/_stateSchema/default/0_0").unlink()
    errors = findings(tmp_path, "error")
    assert any("a row is of schema 0, and the schema files have 1" in f.what for f in errors)
    assert len(findings(tmp_path, "warning")) == 1


def test_a_schema_that_is_not_that_of_the_rows(tmp_path: Path) -> None:
    made = grown(tmp_path)
    made.write_schemas("0_9", KEPT | {"count": Kept(KEY, LENGTH)})
    made.write_metadata(VARIABLES)
    made.batch(made.families(SECOND))
    errors = findings(tmp_path, "error")
    assert any("a value does not have the layout of the schema" in f.what for f in errors)
