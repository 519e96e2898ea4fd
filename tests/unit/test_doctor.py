"""What the doctor says, and of what it says nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bucketstate import sizing
from bucketstate.checkpoint import Checkpoint, Overview
from bucketstate.cli import main
from bucketstate.doctor import Advice, ProgressFileError, of_checkpoint, of_progress, read_progress
from bucketstate.doctor.evidence import gathered
from bucketstate.doctor.rules import rules
from bucketstate.doctor.sources import refusals
from bucketstate.doctor.terms import holds, value
from bucketstate.errors import InvalidArgumentError
from bucketstate.progress import Recorder
from bucketstate.registry import registry
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown
from tests.unit.checkpoint.test_verify import damage

FIELDS = {
    "numRowsTotal": 1000,
    "numRowsUpdated": 100,
    "numRowsRemoved": 10,
    "memoryUsedBytes": 1000,
    "allUpdatesTimeMs": 100,
    "allRemovalsTimeMs": 10,
    "commitTimeMs": 10,
    "numStateStoreInstances": 2,
    "numShufflePartitions": 2,
}
METRICS = {
    "bucketedChangelogBytes": 500,
    "bucketedChangedKeys": 100,
    "bucketedMemoryLimitBytes": 10_000,
    "bucketedSnapshotLag": 8,
}
BATCHES = 40


def progress(
    batch: int, run: str = "run", query: str = "query", add_batch: int = 900, **values: Any
) -> dict[str, Any]:
    """One of a query without complaints, but for what is given."""
    metrics = METRICS | {k: v for k, v in values.items() if k.startswith("bucketed")}
    own = FIELDS | {k: v for k, v in values.items() if k in FIELDS}
    assert set(values) <= set(FIELDS) | {m.name for m in registry().metrics}
    return {
        "id": query,
        "runId": run,
        "name": f"the {query}",
        "timestamp": "2026-03-01T00:00:00.000Z",
        "batchId": batch,
        "durationMs": {"addBatch": add_batch, "triggerExecution": 1000},
        "eventTime": {},
        "stateOperators": [{"operatorName": "dedupe", "customMetrics": metrics} | own],
    }


def constant(**values: Any) -> list[dict[str, Any]]:
    return [progress(n, **values) for n in range(BATCHES)]


def test_a_query_without_complaints() -> None:
    said = of_progress(constant())
    assert (said.advice, said.notes) == ((), ())


# What is ill, with what is just not, and the setting that helps.
ILL: dict[str, tuple[dict[str, float], dict[str, float], str | None]] = {
    "failing": ({"bucketedSnapshotFailures": 1}, {}, None),
    "damaged": ({"bucketedRepairs": 1}, {}, None),
    "moving": ({"bucketedTableReloads": 1}, {}, "spark.locality.wait"),
    "flushing": ({"bucketedMemoryFlushes": 1}, {}, "memory.maxBytes"),
    "cold": (
        {"bucketedColdReads": 20, "memoryUsedBytes": 7000},
        {"bucketedColdReads": 20, "memoryUsedBytes": 6000},
        "memory.maxBytes",
    ),
    "scanning": (
        {"bucketedColdBuckets": 9, "allRemovalsTimeMs": 200},
        {"bucketedColdBuckets": 0, "allRemovalsTimeMs": 200},
        "memory.maxBytes",
    ),
    "stalling": (
        {"bucketedDbStallTimeMs": 100},
        {"bucketedDbStallTimeMs": 99},
        "rocksdb.maxBytesPerSecond",
    ),
    "writing": (
        {"commitTimeMs": 200, "bucketedWriteTimeMs": 100},
        {"commitTimeMs": 20, "bucketedWriteTimeMs": 20},
        "spark.sql.shuffle.partitions",
    ),
    "encoding": (
        {"commitTimeMs": 200, "bucketedEncodeTimeMs": 100},
        {"commitTimeMs": 200, "bucketedEncodeTimeMs": 99},
        "stateStore.compression.codec",
    ),
    "late": ({"bucketedLateWrites": 2}, {"bucketedLateWrites": 1}, "timeBucket.expireAfter"),
    "outside": ({"add_batch": 400}, {"add_batch": 600}, None),
}


@pytest.mark.parametrize("name", ILL)
def test_what_is_ill_gets_its_advice_alone(name: str) -> None:
    ill, well, setting = ILL[name]
    (advice,) = of_progress(constant(**ill)).advice
    assert advice.about == "query the query, operator 0 (dedupe)"
    assert advice.figures
    if setting is None:
        assert advice.settings == ()
    else:
        assert advice.settings[0].endswith(setting)
    assert of_progress(constant(**well)).advice == ()


def test_snapshots_that_are_further_and_further_behind() -> None:
    falling = [progress(n, bucketedSnapshotLag=4 * n) for n in range(BATCHES)]
    (advice,) = of_progress(falling).advice
    assert "further and further behind" in advice.what
    # Far behind, but not more and more.
    assert of_progress(constant(bucketedSnapshotLag=100)).advice == ()


def test_state_that_only_grows() -> None:
    def grows(**more: Any) -> list[dict[str, Any]]:
        rows: dict[str, Any] = {"numRowsRemoved": 0, **more}
        return [progress(n, numRowsTotal=1000 + 50 * n, **rows) for n in range(BATCHES)]

    (advice,) = of_progress(grows()).advice
    assert advice.settings == (registry().prefix + "timeBucket.expireAfter",)
    assert dict(advice.figures)["numRowsTotal, last"] == 1000 + 50 * (BATCHES - 1)
    assert of_progress(grows(numRowsRemoved=1)).advice == ()
    watermarked = [p | {"eventTime": {"watermark": "2026-01-01T00:00:00Z"}} for p in grows()]
    assert of_progress(watermarked).advice == ()


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (0.0, "0"),
        (12, "12"),
        (10_000_000_000, "10,000,000,000"),
        (12_345_678_901_234.0, "12,345,678,901,234"),
        (1234.5, "1,234.50"),
        (0.126, "0.13"),
        (2e15, "2,000,000,000,000,000.00"),
    ],
)
def test_a_figure_reads_as_on_the_plugin_s_page(figure: float, text: str) -> None:
    assert Advice("a query", "", (("commitTimeMs", figure),), "").figures_text == (
        f"commitTimeMs {text}"
    )


def test_every_rule_was_tried() -> None:
    assert {rule.name for rule in rules().operators} == {*ILL, "behind", "growing"}


GOLDEN = json.loads((Path(__file__).parents[1] / "golden/doctor/cases.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_the_golden_cases_which_the_plugin_s_page_is_held_to(case: dict[str, Any]) -> None:
    values = GOLDEN["values"] | case.get("values", {})

    def at(batch: int) -> dict[str, Any]:
        own = {n: v[0] + v[1] * batch if isinstance(v, list) else v for n, v in values.items()}
        made = progress(batch, **own)
        made["durationMs"] = GOLDEN["phases"] | case.get("phases", {})
        if case.get("watermarked"):
            made["eventTime"] = {"watermark": "2026-01-01T00:00:00Z"}
        return made

    said = of_progress(map(at, range(GOLDEN["batches"]))).advice
    texts = {rule.what: rule.name for rule in rules().operators}
    assert {texts[a.what]: dict(a.figures) for a in said} == case["says"]


def test_every_word_of_a_rule_is_known() -> None:
    evidence = gathered(constant())[0]
    store = {"of": lambda _: 1.0, "median of others": lambda _: 1.0}
    for rule in rules().operators:
        holds(rule.when, evidence.figures)
        assert all(value(term, evidence.figures) is not None for _, term in rule.figures)
    for rule in rules().stores:
        holds(rule.when, store)
        assert all(
            value(term, store) is not None for term in (rule.worst, *dict(rule.figures).values())
        )
    with pytest.raises(KeyError):
        value(["no such word"], store)


def test_a_restart_takes_what_bucketstate_size_reckons() -> None:
    data = json.loads(files("bucketstate.doctor").joinpath("rules.json").read_text())
    assert data["restart"] == {
        "seconds": sizing.RESTART_SECONDS,
        "secondsPerKey": sizing.RESTART_SECONDS_PER_KEY,
        "secondsPerUpdate": sizing.RESTART_SECONDS_PER_UPDATE,
    }


def test_settings_that_help_are_real() -> None:
    ours = {s.key for s in registry().settings}
    for ill, _, _ in ILL.values():
        for advice in of_progress(constant(**ill)).advice:
            named = {key for key in advice.settings if key.startswith(registry().prefix)}
            assert named <= ours


def test_the_start_of_a_run_is_no_complaint() -> None:
    runs = [
        progress(batch, run=f"run {run}", bucketedTableReloads=2 if batch % 10 == 0 else 0)
        for run in range(3)
        for batch in range(run * 10, run * 10 + 10)
    ]
    assert of_progress(reversed(runs)).advice == ()


@pytest.mark.parametrize("timed", [True, False])
def test_runs_may_be_given_in_any_order(timed: bool) -> None:
    """State grows over two runs of a query, which begin and end alike but for when they were."""

    def run(name: str, day: int, first: int) -> list[dict[str, Any]]:
        found = [
            progress(
                first + n,
                run=name,
                numRowsTotal=1000 * day + 50 * n,
                numRowsRemoved=0,
                commitTimeMs=10 * day,
            )
            for n in range(20)
        ]
        for n, one in enumerate(found):
            one["timestamp"] = f"2026-03-0{day}T00:00:{n:02d}.000Z"
            if not timed:
                del one["timestamp"]
        return found

    # A query that was taken back begins with an earlier batch than before.
    older, newer = run("older", 1, 100 if timed else 0), run("newer", 2, 50)
    for one in newer:
        one["stateOperators"][0]["operatorName"] = "dedupeWithinWatermark"
    said = of_progress([*older, *newer])
    assert [dict(a.figures).get("numRowsTotal, last") for a in said.advice] == [2950]
    assert said.advice[0].about == "query the query, operator 0 (dedupeWithinWatermark)"
    assert of_progress([*newer, *older]) == said
    assert of_progress(reversed([*older, *newer])) == said
    # Where some have no time, the batches' numbers say which came first.
    if timed:
        for one in older:
            del one["timestamp"]
        (evidence,) = gathered([*older, *newer])
        assert evidence.last("commitTimeMs") == 10


def test_a_batch_that_is_given_again_counts_once() -> None:
    """As where a recorder was saved now and then, or an event log is beside it."""
    few = [progress(n) | {"timestamp": f"2026-03-01T00:00:{n:02d}.000Z"} for n in range(5)]
    (note, again) = of_progress([*few, *few[:3], *map(dict, few)]).notes
    assert note.startswith("query the query, operator 0 (dedupe): 4 batches after the first")
    assert again == "8 progresses that were given before are left out: each counts once."
    # Of another run it is another batch; and a trigger waits for data more than once.
    restarted = [one | {"runId": "second"} for one in few]
    waited = [few[0] | {"timestamp": "2026-03-01T00:00:09.000Z"}]
    assert of_progress([*few, *restarted, *waited]).notes == ()


def test_what_says_too_little_is_said() -> None:
    said = of_progress([progress(n) for n in range(5)])
    (note,) = said.notes
    assert "4 batches after the first of each run say too little, 5 are needed" in note
    other = [progress(n) for n in range(9)]
    for one in other:
        one["stateOperators"][0]["customMetrics"] = {"rocksdbGetCount": 5}
    assert of_progress(other).notes[0].endswith("its state is not in bucketstate.")
    idle = [progress(n) | {"durationMs": {"triggerExecution": 1}} for n in range(9)]
    (note,) = of_progress(idle).notes
    assert note.startswith("No batch of a stateful operator")


NULLS: dict[str, Any] = {
    "eventTime": {"eventTime": None},
    "durationMs": {"durationMs": None},
    "stateOperators": {"stateOperators": None},
    "a phase": {"durationMs": {"addBatch": 900, "triggerExecution": None}},
    "numRowsTotal": {"stateOperators": [{"numRowsTotal": None}]},
    "customMetrics": {"stateOperators": [{"customMetrics": None}]},
    "a metric": {"stateOperators": [{"customMetrics": {"bucketedChangelogBytes": None}}]},
}
"""What JSON may have as null: it counts as what is not there."""

MALFORMED: dict[str, Any] = {
    "eventTime": {"eventTime": "x"},
    "durationMs": {"durationMs": [1]},
    "stateOperators": {"stateOperators": [1]},
    "stateOperators as text": {"stateOperators": "x"},
    "a phase": {"durationMs": {"addBatch": "x", "triggerExecution": "x"}},
    "numRowsTotal": {"stateOperators": [{"numRowsTotal": "x"}]},
    "far numRowsTotal": {"stateOperators": [{"numRowsTotal": 10**400}]},
    "customMetrics": {"stateOperators": [{"customMetrics": 1}]},
    "a metric": {"stateOperators": [{"customMetrics": {"bucketedChangelogBytes": [1]}}]},
    "batchId": {"batchId": None},
}
"""What is no progress of Spark's."""
NOT_ASKED = {"eventTime", "a metric"}
"""Of these, what no rule asks for of a query without complaints."""


def with_values(one: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A progress with some of its values replaced, also within its operator."""
    own = dict(values)
    if isinstance(own.get("stateOperators"), list) and isinstance(own["stateOperators"][0], dict):
        own["stateOperators"] = [one["stateOperators"][0] | own["stateOperators"][0]]
    return one | own


@pytest.mark.parametrize("name", NULLS)
def test_null_is_as_what_is_not_there(name: str, tmp_path: Path) -> None:
    nulls = [with_values(one, NULLS[name]) for one in constant()]
    said = of_progress([*nulls, *constant(run="a second one")])
    assert [note for note in said.notes if "too little" in note] == []
    assert main(["doctor", str(plain(tmp_path, nulls))]) == 0


@pytest.mark.parametrize("name", [name for name in MALFORMED if name not in NOT_ASKED])
def test_malformed_progress_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [with_values(one, MALFORMED[name]) for one in constant()]
    with pytest.raises(InvalidArgumentError, match="has something that is no progress of a query"):
        of_progress(wrong)
    assert main(["doctor", str(plain(tmp_path, wrong))]) == 2
    assert "that is no progress of a query" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [None, 1, []])
def test_an_event_without_its_progress(wrong: Any, tmp_path: Path) -> None:
    file = tmp_path / "local-1"
    file.write_text("\n".join([event(wrong), event(constant()[0])]))
    with pytest.raises(ProgressFileError, match="line 1, is neither"):
        read_progress(file)


@pytest.mark.parametrize("wrong", [None, 1, [1]])
def test_an_event_log_whose_settings_are_none(wrong: Any, tmp_path: Path) -> None:
    lines = [{"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": wrong}]
    file = tmp_path / "local-1"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert refusals(file) == []


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(ProgressFileError, match=r"cannot be read: .*Permission denied"):
        read_progress(tmp_path)


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = grown(tmp_path / "checkpoint")
    made.snapshot(2, 4)
    return made


def test_a_checkpoint_without_complaints(built: Built) -> None:
    said = of_checkpoint(Checkpoint(built.root).overview())
    assert (said.advice, said.notes) == ((), ())


def test_a_checkpoint_that_cannot_be_read(built: Built) -> None:
    damage(built.folder(1) / "6.changelog", -60)
    (advice,) = of_checkpoint(Checkpoint(built.root).overview()).advice
    assert advice.about == "operator 0 (stateStoreSave), partition 1, default"
    assert "6.changelog" in advice.what
    assert "bucketstate verify" in advice.help


# Of the store of partition 1: what is ill, with what is just not, and the setting that helps.
ILL_STORES: dict[str, tuple[dict[str, int], dict[str, int], str | None]] = {
    "many changelogs": ({"changelogs": 100}, {"changelogs": 99}, "snapshot.maxVersions"),
    "One partition": ({"keys": 10_000}, {"keys": 9_999}, None),
    "buckets are large": (
        {"keys": 900_000, "num_buckets": 9},
        {"keys": 899_999, "num_buckets": 9},
        "numBuckets",
    ),
}


def with_store(overview: Overview, everywhere: dict[str, Any], **values: Any) -> Overview:
    """The overview with other figures of its stores, and of one of them."""
    (operator,) = overview.operators
    first, second = (replace(store, **everywhere) for store in operator.stores)
    stores = (first, replace(second, **values))
    return replace(overview, operators=(replace(operator, stores=stores),))


@pytest.mark.parametrize("name", ILL_STORES)
def test_a_checkpoint_s_complaints(built: Built, name: str) -> None:
    overview = Checkpoint(built.root).overview()
    ill, well, setting = ILL_STORES[name]
    # Partitions that are alike, where it is about one that is large by itself.
    everywhere = ill if "num_buckets" in ill else {}
    (advice, *others) = of_checkpoint(with_store(overview, everywhere, **ill)).advice
    assert others == []
    assert name in advice.what
    assert "partition 1" in advice.about or everywhere
    assert all(figure > 0 for _, figure in advice.figures)
    assert [s.removeprefix(registry().prefix) for s in advice.settings[:1]] == (
        [] if setting is None else [setting]
    )
    everywhere = well if everywhere else {}
    assert of_checkpoint(with_store(overview, everywhere, **well)).advice == ()


def event(of: dict[str, Any]) -> str:
    name = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    return json.dumps({"Event": name, "progress": of}, ensure_ascii=False)


PROVIDER = "spark.sql.streaming.stateStore.providerClass"
OURS = "io.bucketstate.BucketedStateStoreProvider"
OTHER_EVENT = json.dumps({"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"})


def plain(folder: Path, each: list[dict[str, Any]]) -> Path:
    file = folder / "progress.jsonl"
    file.write_text("\n".join(map(json.dumps, each)) + "\n\n")
    return file


def saved(folder: Path, each: list[dict[str, Any]]) -> Path:
    Recorder.of(each).save(folder / "progress.parquet")
    return folder / "progress.parquet"


def log(folder: Path, each: list[dict[str, Any]]) -> Path:
    """One that is being written: its last line is not whole."""
    file = folder / "local-1.inprogress"
    file.write_text("\n".join([OTHER_EVENT, *map(event, each), event(each[0])[:50]]))
    return file


def rolled(folder: Path, each: list[dict[str, Any]]) -> Path:
    made = folder / "eventlog_v2_local-1"
    made.mkdir()
    (made / "appstatus_local-1.inprogress").touch()
    for number in range(10):
        text = "\n".join([OTHER_EVENT, *map(event, each[number::10])])
        with pa.output_stream(str(made / f"events_{number + 1}_local-1.zstd"), "zstd") as file:
            file.write(text.encode())
    return made


@pytest.mark.parametrize("write", [plain, saved, log, rolled])
def test_every_kind_of_file_gives_the_same(write: Any, tmp_path: Path) -> None:
    each = constant(bucketedRepairs=1)
    assert of_progress(read_progress(write(tmp_path, each))) == of_progress(each)


@pytest.mark.parametrize("name", ["app-1.zstd.inprogress", "app-1.zstd.compact", "app-1.zstd"])
def test_the_codec_is_what_a_log_s_name_says_of_it(name: str, tmp_path: Path) -> None:
    """Behind it Spark writes that the log is being written, or was made smaller."""
    with pa.output_stream(str(tmp_path / name), "zstd") as file:
        file.write("\n".join(map(event, constant())).encode())
    assert read_progress(tmp_path / name) == constant()
    assert refusals(tmp_path / name) == []


@pytest.mark.parametrize("name", ["app-1.lz4.inprogress", "app-1.lzf.compact", "app-1.snappy"])
def test_a_codec_that_is_not_read_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ProgressFileError, match="is compressed as only Spark's JVM reads it"):
        read_progress(tmp_path / name)
    assert refusals(tmp_path / name) == []


def test_a_rolled_log_with_a_compacted_file(tmp_path: Path) -> None:
    made = rolled(tmp_path, constant(bucketedRepairs=1))
    (made / "events_3_local-1.zstd").rename(made / "events_3_local-1.zstd.compact")
    assert len(read_progress(made)) == BATCHES


def test_a_compressed_log_that_is_cut_off(tmp_path: Path) -> None:
    """What came before the end counts, as it does of one that is not compressed."""
    made = rolled(tmp_path, constant())
    last = made / "events_10_local-1.zstd"
    # It is long enough for several blocks, of which the last one is lost.
    many = [progress(9, query=f"query {n * n * 7919}") for n in range(2000)]
    with pa.output_stream(str(last), "zstd") as file:
        file.write("\n".join(map(event, many)).encode())
    last.write_bytes(last.read_bytes()[:-20])
    found = read_progress(made)[BATCHES - 4 :]
    assert 0 < len(found) < 2000
    assert found == many[: len(found)]


@pytest.mark.parametrize("at", [0, 40])
def test_a_compressed_log_that_is_damaged(at: int, tmp_path: Path) -> None:
    file = tmp_path / "local-1.zstd"
    with pa.output_stream(str(file), "zstd") as stream:
        stream.write("\n".join(map(event, constant())).encode())
    data = bytearray(file.read_bytes())
    data[at : at + 10] = bytes(10)
    file.write_bytes(data)
    with pytest.raises(ProgressFileError, match=r"local-1\.zstd"):
        read_progress(file)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_a_line_ends_where_spark_ends_it(tmp_path: Path, mark: str, end: str) -> None:
    """Spark's JSON has marks that end a line elsewhere as they are, such as those of a plan."""
    plan = {"Event": "SparkListenerSQLExecutionStart", "physicalPlanDescription": f"a{mark}b"}
    started = {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}
    provider = {"Spark Properties": {"a": f"b{mark}c", PROVIDER: OURS}}
    environment = {"Event": "SparkListenerEnvironmentUpdate"} | provider
    progress = event(constant()[0] | {"name": f"of{mark}two lines"})
    events = [json.dumps(e, ensure_ascii=False) for e in (started, environment, plan)]
    file = tmp_path / "local-1"
    file.write_text("".join(line + end for line in [*events, progress]), newline="")
    (read,) = read_progress(file)
    assert read["name"] == f"of{mark}two lines"
    assert len(refusals(file)) == 1
    # Its last line is not whole, as that of a log that is written.
    file.write_text(end.join([*events, progress, progress[:50]]), newline="")
    assert len(read_progress(file)) == 1
    file.write_text(end.join([*events, progress, progress[:50], progress]), newline="")
    with pytest.raises(ProgressFileError, match="local-1, line 5, is neither"):
        read_progress(file)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "", "holds no progress of a streaming query"),
        ("a.json", OTHER_EVENT, "holds no progress of a streaming query"),
        ("a.json", "no JSON\n{}", r"a\.json, line 1, is neither a query's progress nor"),
        ("a.json", "[1]\n{}", r"line 1, is neither .* \(not an object\)"),
        ("a.json", "{}\n{}", r"line 1, is neither .*without batchId, durationMs, id, runId"),
        ("a.lz4", "x", r"a\.lz4 is compressed as only Spark's JVM reads it"),
        ("a.zstd", "x", r"a\.zstd cannot be read"),
        ("a.parquet", "x", "does not hold a recorder's progress"),
    ],
)
def test_what_holds_no_progress(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    expected = ProgressFileError if not name.endswith("parquet") else Exception
    with pytest.raises(expected, match=said):
        read_progress(tmp_path / name)


@pytest.mark.parametrize("has_progress", [False, True])
@pytest.mark.parametrize(
    ("version", "provider", "refused"),
    [
        ("4.3.0", OURS, True),
        ("4.2.1", OURS, False),
        ("4.3.0", "another.Provider", False),
    ],
)
def test_an_event_log_of_an_application_in_which_no_real_time_query_starts(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    provider: str,
    refused: bool,
    has_progress: bool,
) -> None:
    lines = [
        {"Event": "SparkListenerLogStart", "Spark Version": version},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {PROVIDER: provider}},
    ]
    progress = map(event, constant(bucketedChangedKeys=1)) if has_progress else []
    file = tmp_path / "local-1"
    file.write_text("\n".join([*map(json.dumps, lines), *progress]))
    assert main(["doctor", str(file)]) == (0 if has_progress or refused else 1)
    assert ("starts no query in real-time mode" in capsys.readouterr().out) == refused


@pytest.mark.parametrize(
    "name",
    [
        "local-1732000000000",
        "local-1732000000000.inprogress",
        "eventlog_v2_app-20260101000000-0000",
        "application_1732000000000_0001_1.zstd",
        "spark-0123456789abcdef0123456789abcdef",
        "spark-application-1732000000000",
    ],
)
def test_the_folder_of_all_event_logs(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / name).touch()
    assert main(["doctor", str(tmp_path)]) == 1
    assert "is a folder of event logs: give those of the applications" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["local-data.csv", "appeared.txt", "spark-defaults.conf"])
def test_what_only_begins_like_an_event_log(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / name).touch()
    assert main(["doctor", str(tmp_path)]) == 1
    assert "event logs: give those" not in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path) -> None:
    file = plain(tmp_path, constant(bucketedMemoryFlushes=1))
    places = [str(built.root), str(file)]
    assert main(["doctor", *places]) == 0
    out = capsys.readouterr().out
    assert f"{built.root}\n  nothing that a setting would help\n{file}\n  query the query" in out
    assert "figures: batches 39, with bucketedMemoryFlushes 39, memoryUsedBytes 1,000" in out
    assert "settings: spark.sql.streaming.stateStore.bucketed.memory.maxBytes\n" in out
    assert main(["doctor", *places, "--json", "--exit-code"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said[str(built.root)] == {"advice": [], "notes": []}
    assert said[str(file)]["advice"][0]["what"] == "What batches change fills the memory."
    assert main(["doctor", str(built.root), "--exit-code"]) == 0
    assert main(["doctor", str(tmp_path / "nowhere")]) == 1
