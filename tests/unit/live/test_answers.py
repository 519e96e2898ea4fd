"""What `Live` answers: the same as a scan of the newest version, key by key and all at once."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bucketstate
from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.key_bytes import KeyBytes, key_bytes
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import DamagedFileError, InvalidArgumentError, NoSuchStateError
from bucketstate.live import Live
from bucketstate.live.held import Held
from bucketstate.live.partition import Partition
from tests.kit.aging import Aging
from tests.kit.cases import examples
from tests.kit.checkpoints import Built, bucket_of, changelog, manifest, manifest_members, run_file
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint import test_aging, test_golden_keys, test_lists, test_variables
from tests.unit.checkpoint.test_state import grown
from tests.unit.live.following import KEYS, Hashed, agrees, hashed, values_of

EXAMPLES = settings(
    max_examples=examples(12),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def as_in_scans(live: Live, checkpoint: Checkpoint, keys: list[Any], **how: Any) -> None:
    """The columns and rows of each key, its own and among many."""
    answers = live.get_many(keys)
    table = answers.to_arrow()
    assert answers.version == checkpoint.restart_version
    asked = table.column("asked").to_pylist()
    assert asked == sorted(asked)
    for number, key in enumerate(keys):
        given = (None,) if key is None else key
        expected = checkpoint.scan(key=given, **how).to_arrow()
        assert table.drop_columns("asked").schema == expected.schema
        own = table.filter(pa.compute.equal(table.column("asked"), number)).drop_columns("asked")
        assert by_text(own) == by_text(expected)
        assert by_text(live.get_many([key]).to_arrow().drop_columns("asked")) == by_text(expected)
        assert len(answers[number].rows) == len(live.get(key).rows) == expected.num_rows


def by_text(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("snapshots", [(), (4,), (2, 5), (6,)])
@pytest.mark.usefixtures("each_reader")
def test_every_key(tmp_path: Path, ids: bool, snapshots: tuple[int, ...]) -> None:
    """Keys that lie elsewhere than Spark puts them, and those that do not."""
    for built in (grown(tmp_path / "a", ids=ids), hashed(tmp_path / "b", 6, ids=ids)):
        if snapshots:
            built.snapshot(*snapshots)
        with bucketstate.Live(built.root) as live:
            agrees(live, built)
            as_in_scans(live, Checkpoint(built.root), [*KEYS[:5], None, KEYS[0]])


def test_an_answer_says_what_it_is_of(tmp_path: Path) -> None:
    built = Built(tmp_path)
    built.batch({("a",): (1, 2), (None,): (3, 4)})
    with Live(tmp_path) as live:
        answer = live.get("a")
        assert (answer.version, answer.batch, bool(answer)) == (1, 0, True)
        row = {"key": {"key": "a"}, "value": {"count": 1, "total": 2}}
        assert answer.rows == [row | {"partition_id": answer.rows[0]["partition_id"]}]
        assert answer.value == {"count": 1, "total": 2}
        assert repr(answer) == f"Answer('a', rows={answer.rows!r}, version=1)"
        nothing = live.get("b")
        assert (nothing.rows, nothing.value, bool(nothing)) == ([], None, False)
        for way in (("a",), ["a"], {"key": "a"}, b"a"):
            assert live.get(way).value == answer.value
        assert live.get(None).value == live.get((None,)).value == {"count": 3, "total": 4}
        answers = live.get_many(key for key in ("b", "a", None, "a"))
        assert (len(answers), answers.version, answers.batch) == (4, 1, 0)
        assert answers.values == [None, answer.value, {"count": 3, "total": 4}, answer.value]
        assert [one.value for one in answers] == answers.values
        assert answers[-1].value == answers[1].value
        assert [one.value for one in answers[1:3]] == answers.values[1:3]
        assert answers[4:] == []
        assert answers.to_arrow().column("asked").to_pylist() == [1, 2, 3]
        assert repr(answers) == "Answers(4 keys, 3 rows, version=1)"
        with pytest.raises(IndexError):
            answers[4]
        assert live.get_many([]).to_arrow().num_rows == 0
        assert repr(live) == f"Live({str(tmp_path)!r}, version=1)"
        assert (live.version, live.batch) == (1, 0)
        scan = live.scan()
        assert scan.get("a") == answer.value
    assert repr(live) == f"Live({str(tmp_path)!r}, closed)"
    with pytest.raises(InvalidArgumentError, match="was closed"):
        scan.get("a")
    with pytest.raises(InvalidArgumentError, match="was closed: make another one"):
        live.get("a")
    # What was answered stays.
    assert answers.values[1] == answer.value


def test_a_checkpoint_that_is_open_is_taken_too(tmp_path: Path) -> None:
    built = hashed(tmp_path)
    with Live(Checkpoint(tmp_path)) as live:
        agrees(live, built)


@pytest.mark.parametrize("evolving", [False, True])
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("name", ["count", "last", "every", "recent", "plain", "by_value"])
def test_state_variables(
    tmp_path: Path, name: str, evolving: bool, flatten: bool, times: bool
) -> None:
    test_variables.grown(tmp_path, evolving=evolving)
    checkpoint = Checkpoint(tmp_path)
    how: dict[str, Any] = {"state_var": name, "flatten": flatten, "times": times}
    with Live(tmp_path, **how) as live:
        as_in_scans(live, checkpoint, ["a", "b", "none", "a"], **how)
        found = live.get("a")
        values = found.value if flatten else [found.value]
        expected = checkpoint.scan(state_var=name).get("a")
        assert values == (expected if flatten else [expected])
        assert live.get("none").value is None


def test_one_key_of_a_map(tmp_path: Path) -> None:
    test_variables.grown(tmp_path)
    with Live(tmp_path, state_var="plain") as live:
        assert live.get("a", 1).value == {"v": 11}
        assert live.get("a").value == [({"v": 1}, {"v": 11})]
        assert live.get("a", 999).value is None
    no_map = pytest.raises(InvalidArgumentError, match="user_key=3 is given, but every is no map")
    with Live(tmp_path, state_var="every") as live, no_map:
        live.get("a", 3)


@EXAMPLES
@given(test_aging.VERSIONS, st.data())
@pytest.mark.usefixtures("each_reader")
def test_keys_that_expire(tmp_path: Path, versions: list[Any], data: st.DataObject) -> None:
    """All along: what is kept from one version to the next expires, too."""
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    built = Aging(root, buckets=3, sliced=True, tidy=data.draw(st.booleans()))
    horizon, live = 0, None
    for changes, step in versions:
        horizon += step
        built.batch_at(changes, horizon=horizon, untimed=4)
        if data.draw(st.booleans()):
            built.snapshot(built.version)
        live = live or Live(root, times=True, max_age=0)
        keys = [key for (key,) in test_aging.KEYS]
        whole = Checkpoint(root).scan(times=True).to_arrow()
        assert by_text(live.get_many(keys).to_arrow().drop_columns("asked")) == by_text(whole)
    assert live is not None
    live.close()


@pytest.mark.parametrize("of", ["changelog", "run"])
@pytest.mark.usefixtures("each_reader")
def test_a_time_that_cannot_be_read_is_of_a_file_that_is_named_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    built = Aging(tmp_path, partitions=1)
    monkeypatch.setattr(built, "_value", lambda _: b"\x02")
    built.batch_at({("a",): (300, (1, 1))}, horizon=200)
    path = built.folder() / "1.changelog"
    if of == "run":
        built.snapshot(1, files=1)
        (path,) = (built.folder() / "runs").iterdir()
    with pytest.raises(DamagedFileError) as of_scan:
        Checkpoint(tmp_path).scan().to_arrow()
    with Live(tmp_path) as live, pytest.raises(DamagedFileError) as of_live:
        live.get("a")
    assert of_live.value.path == of_scan.value.path == str(path)
    assert str(of_live.value) == str(of_scan.value)


@EXAMPLES
@given(test_lists.VERSIONS, st.integers(0, 6))
@pytest.mark.usefixtures("each_reader")
def test_values_that_were_appended_to(
    tmp_path: Path, versions: list[dict[bytes, tuple[int, bytes]]], snapshot: int
) -> None:
    """In changelogs, and behind a run of the version that is drawn."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    model: dict[bytes, bytes] = {}
    for number, version in enumerate(versions, start=1):
        test_lists.write(model, version)
        records = [(op, key, value) for key, (op, value) in version.items()]
        lists: dict[str, Any] = {"value_encoding": "compact-rows/1"}
        lists["commit"] = uuid.UUID(int=number)
        data = changelog(number, records, len(model), buckets=3, **lists)
        (folder / f"{number}.changelog").write_bytes(data)
        if number == snapshot and model:
            entries = {(bucket_of(key, 3), key): value for key, value in model.items()}
            run: dict[str, Any] = {"firstVersion": 1, "lastVersion": number}
            run["files"] = [run_file(folder, number, 0, dict(entries))]
            members = manifest_members(number, len(model), [run], 3)
            members["families"][0]["valueEncoding"] = "compact-rows/1"
            (folder / f"{number}.manifest").write_bytes(manifest(members))
    store = Store(0, 0, "default", Folder.at(folder))
    plan = store.plan(Attempt(len(versions)))
    held = Held(1)
    partition = Partition(plan, plan.family("default"), held.of(store.folder))
    keys = {key for version in versions for key in version} | {b"missing"}
    for some in ([key] for key in keys):
        compared(partition, some, model)
    compared(partition, list(keys), model)
    held.close()


def compared(partition: Partition, keys: list[bytes], model: dict[bytes, bytes]) -> None:
    wanted = {key: KeyBytes(key, whole=True, bucket=bucket_of(key, 3)) for key in keys}
    found = partition.find(wanted)
    pairs = dict(zip(found.keys.to_list(), found.values.to_list(), strict=True))
    assert pairs == {key: model[key] for key in keys if key in model}
    assert len(pairs) == len(found)


@pytest.mark.parametrize(("family", "key"), test_golden_keys.KEYS)
def test_a_golden_key_is_told_from_its_neighbours(
    tmp_path: Path, family: dict[str, Any], key: dict[str, Any]
) -> None:
    """In every encoding: whole, and by the fields that suffice."""
    from bucketstate.checkpoint.spark import types as T  # noqa: N812
    from bucketstate.checkpoint.spark.key_bytes import key_columns

    schema = T.type_of(family["schema"])
    assert isinstance(schema, T.StructType)
    values = test_golden_keys.values_of(test_golden_keys.schema_of(family), key["values"])
    # In one bucket: the kit knows no other than that of whole keys and prefixes.
    encoding, buckets = family["encoding"], 1
    own = bytes.fromhex(key["entry"])[4:]
    every = [bytes.fromhex(other["entry"])[4:] for other in family["keys"]]
    records = [(1, one, b"\1" + bytes([number])) for number, one in enumerate(every)]
    data = changelog(1, records, len(every), buckets=buckets, key_encoding=encoding)
    (tmp_path / "1.changelog").write_bytes(data)
    store = Store(0, 0, "default", Folder.at(tmp_path))
    plan = store.plan(Attempt(1))
    partition = Partition(plan, plan.family("default"), Held(2**20).of(store.folder))
    for given_values in (values, values[: key_columns(encoding, len(schema))]):
        wanted = key_bytes(encoding, schema, given_values, buckets)
        found = partition.find({wanted.start: wanted}).keys.to_list()
        assert sorted(found) == sorted(one for one in every if wanted.matches(one))
        assert own in found


def test_what_is_scanned_is_of_the_newest_version(tmp_path: Path) -> None:
    built = hashed(tmp_path)
    with Live(tmp_path, max_age=0) as live:
        scan = live.scan()
        assert scan.version == built.version
        assert {row["key"]["key"]: row["value"] for row in scan.to_arrow().to_pylist()} == (
            values_of(built)
        )
        before = values_of(built)
        built.batch({("key-0",): (7, 7)})
        assert live.scan(filters=[("key.key", "=", "key-0")]).to_arrow().num_rows == 1
        some = live.scan(filters=[("value.count", "=", 7)], columns=["key.key"])
        assert some.to_arrow().column("key.key").to_pylist() == ["key-0"]
        # The older one stays what it was.
        assert scan.to_arrow().num_rows == len(before)
        assert scan.get("key-0") == before.get("key-0")
        assert live.scan().get("key-0") == {"count": 7, "total": 7}
        # A scan that is asked for another version reads that.
        assert live.scan().update(version=1).get("key-0") == values_of(built, 1).get("key-0")
        assert live.scan("key-0").to_arrow().num_rows == 1
        with pytest.raises(InvalidArgumentError, match="key=5 is no string"):
            live.scan(5).to_arrow()


def test_a_map_is_scanned_by_its_key(tmp_path: Path) -> None:
    test_variables.grown(tmp_path)
    with Live(tmp_path, state_var="plain") as live:
        found = live.scan("a").to_arrow()
        assert found == Checkpoint(tmp_path).scan(state_var="plain", key="a").to_arrow()


def test_far_files_are_read_by_blocks(tmp_path: Path) -> None:
    """A small one is read once; of a large one a block for each look-up, and that once."""
    built = Hashed(tmp_path, partitions=1, buckets=64)
    built.batch({(f"key-{n}",): (n, n) for n in range(30_000)})
    built.batch({("key-7",): (8, 8)})
    built.snapshot(1, files=2)
    built.drop_changelogs(1)
    read: list[str] = []
    far = FarFiles(lambda kind, path: read.append(path) if kind == "read" else None)
    with Live(str(tmp_path), far.arrow(), max_age=1e9) as live:
        assert live.get("key-7").value == {"count": 8, "total": 8}
        assert not any("/runs/" in path for path in read)
        assert live.get("key-8").value == {"count": 8, "total": 8}
        first = [path for path in read if "/runs/" in path]
        assert len(first) <= 3
        assert live.get("key-8").value == {"count": 8, "total": 8}
        assert [path for path in read if "/runs/" in path] == first
        assert live.get_many([f"key-{n}" for n in range(1000, 1040)]).values == [
            {"count": n, "total": n} for n in range(1000, 1040)
        ]
        assert live.get("missing").value is None


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"max_age": -1}, r"max_age=-1: give a number of seconds"),
        ({"max_age": "x"}, r"max_age='x': give a number of seconds"),
        ({"max_age": float("nan")}, r"max_age=nan: give a number of seconds"),
        ({"memory": 0}, r"memory=0: give a number of bytes"),
        ({"operator": "x"}, r"operator='x' is a str"),
        ({"state_var": "a", "column_family": "b"}, r"are given: give one of them"),
    ],
)
def test_what_is_given_wrong(tmp_path: Path, given: dict[str, Any], what: str) -> None:
    hashed(tmp_path)
    with pytest.raises(InvalidArgumentError, match=what):
        Live(tmp_path, **given)


def test_what_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    hashed(tmp_path)
    unknown: list[dict[str, Any]] = [{"operator": 3}, {"store": "x"}, {"state_var": "x"}]
    for of in (*unknown, {"column_family": "x"}):
        with pytest.raises(NoSuchStateError):
            Live(tmp_path, **of)
    with Live(tmp_path) as live:
        for wrong in ("abc", b"abc", {"a": 1}, 5, None):
            with pytest.raises(InvalidArgumentError, match=r"^keys="):
                live.get_many(wrong)  # type: ignore[arg-type]


def test_a_query_of_spark_connect_does_not_know_its_checkpoint() -> None:
    query_of_connect = pytest.importorskip("pyspark.sql.connect.streaming.query").StreamingQuery
    query = query_of_connect.__new__(query_of_connect)
    with pytest.raises(InvalidArgumentError, match=r"Spark Connect .* as checkpointLocation"):
        Live(query)
