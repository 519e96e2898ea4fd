"""One key, looked up: the same as in the whole state, and little is read for it."""

from __future__ import annotations

import resource
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import (
    DamagedFileError,
    InvalidArgumentError,
    MissingFileError,
)
from tests.kit.aging import Aging
from tests.kit.cases import each, examples
from tests.kit.checkpoints import Built, Row
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint import test_aging, test_lists, test_variables
from tests.unit.checkpoint.test_state import grown
from tests.unit.checkpoint.test_variables import FIRST, SECOND
from tests.unit.checkpoint.test_verify import damage

KEYS = [f"key-{n}" for n in range(0, 300, 3)]


def state_of(built: Built, version: int) -> dict[Row, Row]:
    return {key: value for _, key, value in built.rows(version)}


@pytest.mark.slow
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("snapshots", [(), (4,), (2, 5), (6,)])
def test_every_key_at_every_version(tmp_path: Path, ids: bool, snapshots: tuple[int, ...]) -> None:
    built = grown(tmp_path, ids=ids)
    if snapshots:
        built.snapshot(*snapshots)
    checkpoint = Checkpoint(tmp_path)
    for version in range(1, 7):
        state = state_of(built, version)
        for key in KEYS:
            found = checkpoint.scan(version=version).get(key)
            expected = state.get((key,))
            assert found == (expected and dict(zip(("count", "total"), expected, strict=True)))


def test_a_key_that_is_nowhere_needs_few_open_files(tmp_path: Path) -> None:
    """However many partitions are asked for it."""
    built = grown(tmp_path, partitions=80)
    built.snapshot(2, 4, 6)
    scan = Checkpoint(tmp_path).scan(key="nowhere")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Three runs of two files have each partition's keys.
    open_now = sum(1 for _ in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 80, hard))
    try:
        assert scan.to_arrow().num_rows == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_ways_to_give_a_key(tmp_path: Path) -> None:
    built = Built(tmp_path)
    built.batch({("a",): (1, 2), (None,): (3, 4)})
    checkpoint = Checkpoint(tmp_path)
    for way in ("a", ("a",), ["a"], {"key": "a"}):
        assert checkpoint.scan().get(way) == {"count": 1, "total": 2}
    assert checkpoint.scan().get((None,)) == {"count": 3, "total": 4}
    assert checkpoint.scan().get("b") is None
    assert checkpoint.scan(batch=0).get("a") == {"count": 1, "total": 2}
    found = checkpoint.scan(key="a").to_arrow().drop_columns("partition_id")
    assert found.to_pylist() == [{"key": {"key": "a"}, "value": {"count": 1, "total": 2}}]
    assert len(checkpoint.scan(key="b").to_pandas()) == 0


@pytest.mark.parametrize("key", [5, 1.5, True, {"other": "a"}, ("a", "b"), [["a"]]])
def test_a_key_of_another_type_names_its_column(tmp_path: Path, key: Any) -> None:
    grown(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"^key.*string"):
        Checkpoint(tmp_path).scan().get(key)


def test_the_history_of_a_key(tmp_path: Path) -> None:
    built = grown(tmp_path, partitions=1)
    built.snapshot(3)
    built.drop_changelogs(3)
    checkpoint = Checkpoint(tmp_path)
    for key in KEYS:
        found = checkpoint.scan("history", key=key).to_arrow()
        assert found.column_names == ["version", "batch_id", "key", "value", "partition_id"]
        # Versions 1 and 2 are gone.
        values = [state_of(built, version).get((key,)) for version in range(3, 7)]
        assert found.to_pylist() == [
            {
                "version": version,
                "batch_id": version - 1,
                "key": value and {"key": key},
                "value": value and {"count": value[0], "total": value[1]},
                "partition_id": 0,
            }
            for version, value in enumerate(values, start=3)
        ]


def test_a_history_with_a_hole_is_an_error(tmp_path: Path) -> None:
    built = grown(tmp_path, partitions=1)
    (built.folder(0) / "4.changelog").unlink()
    with pytest.raises(MissingFileError, match=r"4\.changelog is not there"):
        Checkpoint(tmp_path).scan("history", key="key-1").to_arrow()


def test_a_partition_may_be_named(tmp_path: Path) -> None:
    built = grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    for partition, (key,), value in sorted(built.rows())[::7]:
        assert checkpoint.scan(partition=partition).get(key) == dict(
            zip(("count", "total"), value, strict=True)
        )
        assert checkpoint.scan(partition=1 - partition).get(key) is None


def of_key(table: pa.Table, key: str) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if row["key"] == {"key": key}]


@pytest.mark.parametrize("evolving", [False, True])
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("name", ["count", "last", "every", "recent", "plain", "by_value"])
def test_of_state_variables(
    tmp_path: Path, name: str, evolving: bool, flatten: bool, times: bool
) -> None:
    """Values that have expired among them, as in the whole state."""
    test_variables.grown(tmp_path, evolving=evolving)
    checkpoint = Checkpoint(tmp_path)
    how: dict[str, Any] = {"state_var": name, "flatten": flatten, "times": times}
    for version in (1, 2):
        whole = checkpoint.scan(version=version, **how).to_arrow()
        for key in ("a", "b", "c", "d", "none"):
            found = checkpoint.scan(version=version, key=key, **how).to_arrow()
            assert found.schema == whole.schema
            by_text = [sorted(rows, key=repr) for rows in (found.to_pylist(), of_key(whole, key))]
            assert by_text[0] == by_text[1]
    history = checkpoint.scan("history", key="a", **how).to_arrow()
    assert set(history["version"].to_pylist()) == {1, 2}


def test_values_of_state_variables(tmp_path: Path) -> None:
    test_variables.grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    for version, state in ((1, FIRST), (2, SECOND)):
        for key, numbers in state.every.items():
            found = checkpoint.scan(version=version, state_var="every").get(key)
            assert found == [{"v": number} for number in numbers]
        for (key, user_key), number in state.plain.items():
            how: dict[str, Any] = {"version": version, "state_var": "plain"}
            assert checkpoint.scan(**how).get(key, user_key) == {"v": number}
            assert ({"v": user_key}, {"v": number}) in checkpoint.scan(**how).get(key)
            assert checkpoint.scan(**how).get(key, 999) is None
    with pytest.raises(InvalidArgumentError, match="user_key=3 is given, but every is no map"):
        checkpoint.scan(state_var="every").get("a", 3)
    with pytest.raises(InvalidArgumentError, match="user_key=3 is given without key"):
        checkpoint.scan(state_var="plain", user_key=3).to_arrow()


@settings(
    max_examples=examples(5),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(test_aging.VERSIONS)
def test_keys_that_expired(tmp_path: Path, versions: list[Any]) -> None:
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    built = Aging(root, buckets=3, sliced=True)
    horizon = 0
    for changes, step in versions:
        horizon += step
        built.batch_at(changes, horizon=horizon, untimed=4)
    built.snapshot(len(versions))
    checkpoint = Checkpoint(root)
    whole = checkpoint.scan(times=True).to_arrow()
    for (key,) in test_aging.KEYS:
        assert checkpoint.scan(key=key, times=True).to_arrow().to_pylist() == of_key(whole, key)


@settings(
    max_examples=examples(10),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(test_lists.VERSIONS)
def test_values_that_were_appended_to(
    tmp_path: Path, versions: list[dict[bytes, tuple[int, bytes]]]
) -> None:
    from bucketstate.checkpoint.format.names import Attempt
    from bucketstate.checkpoint.format.storage import Folder
    from bucketstate.checkpoint.spark.key_bytes import KeyBytes
    from bucketstate.checkpoint.store.lookup import Lookup
    from bucketstate.checkpoint.store.store import Store
    from tests.kit.checkpoints import bucket_of, changelog

    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    model: dict[bytes, bytes] = {}
    for number, version in enumerate(versions, start=1):
        test_lists.write(model, version)
        records = [(op, key, value) for key, (op, value) in version.items()]
        lists = "compact-rows/1"
        data = changelog(number, records, len(model), buckets=3, value_encoding=lists)
        (folder / f"{number}.changelog").write_bytes(data)
    store = Store(0, 0, "default", Folder.at(folder))
    plan = store.plan(Attempt(len(versions)))
    with Lookup(store.folder) as lookup:
        for key in {key for version in versions for key in version}:
            wanted = KeyBytes(key, whole=True, bucket=bucket_of(key, 3))
            found = lookup.find(plan, plan.family("default"), wanted)
            assert found.values.to_list() == ([model[key]] if key in model else [])


def test_what_is_read_for_a_key(tmp_path: Path) -> None:
    """A block of a data file, not the file; of changelogs the key's bucket."""
    built = Built(tmp_path, partitions=1, buckets=64)
    built.batch({(f"key-{n}",): (n, n) for n in range(30_000)})
    built.batch({("key-7",): (8, 8)})
    built.snapshot(1, files=4)
    built.drop_changelogs(1)
    read: list[str] = []
    far = FarFiles(lambda kind, path: read.append(path) if kind == "read" else None)
    checkpoint = Checkpoint(str(tmp_path), far.arrow())
    assert checkpoint.scan().get("key-7") == {"count": 8, "total": 8}
    assert not any("/runs/" in path for path in read)
    assert checkpoint.scan().get("key-8") == {"count": 8, "total": 8}
    of_runs = [path for path in read if "/runs/" in path]
    assert len(of_runs) <= 3
    assert len(set(of_runs)) == 1


def test_a_key_is_looked_up_by_the_caller_s_thread(tmp_path: Path) -> None:
    """Where processors are busy, to wait for other threads takes longer than the look-up."""
    grown(tmp_path).snapshot(4)
    threads: set[int] = set()
    far = FarFiles(lambda kind, _: threads.add(threading.get_ident()) if kind == "read" else None)
    for key in ("key-3", "missing"):
        Checkpoint(str(tmp_path), far.arrow()).scan().get(key)
    assert threads == {threading.get_ident()}


@pytest.mark.slow
def test_damage_of_a_data_file_is_never_another_value(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1, buckets=4)
    built.batch({(f"k{n}",): (n, n) for n in range(300)})
    built.snapshot(1, files=1)
    (path,) = built.folder(0).glob("runs/*.sst")
    sound = path.read_bytes()
    noticed = 0
    step = each(13, 5)
    for at in range(0, len(sound), step):
        damage(path, at, sound)
        try:
            assert Checkpoint(tmp_path).scan().get("k7") == {"count": 7, "total": 7}
        except DamagedFileError as error:
            noticed += path.name in str(error)
    assert noticed * step > 500
    path.write_bytes(sound[:-1])
    (built.folder(0) / "1.changelog").unlink()
    with pytest.raises(DamagedFileError):
        Checkpoint(tmp_path).scan().get("k7")


def test_a_key_of_many_types(tmp_path: Path) -> None:
    from decimal import Decimal

    from pyspark.sql import types as T  # noqa: N812

    window = T.StructType().add("start", T.TimestampType()).add("end", T.TimestampType())
    key = T.StructType().add("window", window).add("amount", T.DecimalType(12, 2))
    built = Built(tmp_path, key=key, partitions=3)
    stored = ((0, 60_000_000), Decimal("1.50"))
    built.batch({stored: (1, 1)})
    start, end = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    checkpoint = Checkpoint(tmp_path)
    ways = [
        ((start, end), Decimal("1.5")),
        {"window": {"start": start, "end": end}, "amount": 1.5},
        {"amount": "1.50", "window": {"start": "1970-01-01", "end": "1970-01-01T00:01:00+00:00"}},
    ]
    for way in (ways[0], ways[2]):
        assert checkpoint.scan().get(way) == {"count": 1, "total": 1}
    with pytest.raises(InvalidArgumentError, match=r"key\.amount=1\.5 is no decimal\(12,2\)"):
        checkpoint.scan().get(ways[1])
    with pytest.raises(InvalidArgumentError, match=r"key has 1 of the columns window, amount"):
        checkpoint.scan().get(((start, end),))
