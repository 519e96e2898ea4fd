"""What the page about a checkpoint says, and that it says it of every checkpoint."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.errors import BucketstateError, InvalidArgumentError, NotACheckpointError
from bucketstate.progress import Recorder
from bucketstate.report import write_report
from bucketstate.report.material import _batches
from tests.docs import DOCS, run_blocks
from tests.kit.aging import Aging
from tests.kit.checkpoints import NEVER, Built, Times
from tests.kit.pages import Page
from tests.unit.checkpoint import test_variables
from tests.unit.checkpoint.test_state import grown, rewrite
from tests.unit.checkpoint.test_verify import damage
from tests.unit.test_doctor import MALFORMED, NULLS, event, progress, with_values

QUERY = "00000000-0000-0000-0000-000000000001"
"""That of a checkpoint that the tests build."""


def batches(
    number: int, *, run: str = "run", first: int = 0, **values: Any
) -> list[dict[str, Any]]:
    """Of the checkpoint's query, five seconds apart."""
    found = []
    for batch in range(first, first + number):
        one = progress(batch, run, QUERY, **values)
        at = datetime(2026, 3, 1) + timedelta(seconds=5 * batch)
        found.append(one | {"timestamp": f"{at.isoformat()}Z", "numInputRows": 1000 + batch})
    return found


def page(root: Path, **how: Any) -> Page:
    written = write_report(root, root.parent / "report.html", **how)
    assert written.bytes == written.output.stat().st_size
    return Page(written.output)


def test_a_page_of_a_sound_checkpoint(built: Built) -> None:
    found = page(built.root)
    keys = [len(built.states[6][partition]) for partition in range(2)]
    assert found.figures["Keys"].startswith(f"{sum(keys)}of all column families")
    assert found.figures["Buckets"].startswith("8")
    assert found.figures["Snapshot lag"].startswith("2")
    assert f"Query {QUERY}" in found.text
    assert [grade for grade, _ in found.remarks] == []
    (trace,) = found.charts["Keys per partition"].traces.values()
    assert (trace["x"], trace["y"]) == (["0", "1"], keys)
    (cells,) = found.charts["Keys per bucket"].spec["data"]
    assert [sum(row) for row in cells["z"]] == keys
    (held,) = Checkpoint(built.root).scan(partition=1).keys_per_bucket().slice(3, 1).to_pylist()
    assert cells["customdata"][1][3] == f"partition 1, bucket 3: {held['keys']} keys"
    replayed = found.charts["Snapshot lag"]
    assert next(iter(replayed.traces.values()))["y"] == [2, 2]
    assert "newest usable snapshot at version 4, and replays 2 changelogs" in replayed.finding
    by_version = found.charts["Keys by version"].traces["operator 0"]
    model = [sum(len(rows) for rows in state.values()) for state in built.states[1:]]
    assert (by_version["x"], by_version["y"]) == ([1, 2, 3, 4, 5, 6], model)
    files = found.charts["Files by the version that wrote them"].traces
    assert files["changelogs"]["y"] == [2] * 6
    assert files["manifests"]["y"] == [0, 0, 0, 2, 0, 0]
    assert "No progress of the query was given" in found.untold["Batches"]
    assert "no times of their own" in found.untold["Keys by their time"]


def test_bytes_are_those_of_the_files(built: Built) -> None:
    found = page(built.root)
    overview = Checkpoint(built.root).overview()
    (operator,) = overview.operators
    kib = 1024
    charts = {
        "Bytes per partition": [store.bytes for store in operator.stores],
        "Bytes that a restart reads": [store.read_bytes for store in operator.stores],
    }
    for title, expected in charts.items():
        traces = found.charts[title].traces.values()
        sums = [round(sum(trace["y"][n] for trace in traces) * kib) for n in range(2)]
        assert sums == expected, title
    written = found.charts["Bytes by the version that wrote them"].traces.values()
    total = round(sum(sum(trace["y"]) for trace in written) * kib)
    assert total == sum(store.bytes for store in operator.stores)
    (cells,) = found.charts["Bytes per bucket"].spec["data"]
    residency = [s.residency for s in operator.stores if s.residency]
    stored = [of.cold_bytes + of.warm_bytes for of in residency]
    unit = 1 if cells["colorbar"]["title"]["text"] == "bytes" else kib
    assert [round(sum(row) * unit) for row in cells["z"]] == stored


def test_changes_of_versions_whose_changelogs_are_gone(built: Built) -> None:
    """Numbers are whole ones also where pandas has gaps among them."""
    before = page(built.root).charts["Changed keys by version"]
    changed = next(iter(before.traces.values()))["y"]
    most = changed.index(max(changed)) + 1
    assert before.finding == (
        f"{sum(changed):,} in all; version {most} has most, {max(changed):,}."
    )
    for partition in range(2):
        (built.folder(partition) / "4.changelog").unlink()
    found = page(built.root).charts["Changed keys by version"]
    rest = sum(changed) - changed[3]
    assert found.finding.startswith(f"{rest:,} in all; version ")


def test_versions_whose_keys_nobody_counted(tmp_path: Path) -> None:
    built = grown(tmp_path / "checkpoint")
    for version in (5, 6):
        rewrite(built, version, None)
    told = page(built.root).charts["Keys by version"].finding
    assert told.endswith(" Keys of 2 versions were not counted (exactKeyCount).")
    for version in range(1, 5):
        rewrite(built, version, None)
    told = page(built.root).untold["Keys by version"]
    assert told == "Keys of 6 versions were not counted (exactKeyCount)."


def test_versions_that_stand_alone(built: Built) -> None:
    built.stand_alone(4)
    said = "1 version is a snapshot without a changelog, as moves and retention leave it: what "
    said += "changed then is not known."
    found = page(built.root)
    assert found.charts["Changed keys by version"].finding.endswith(f" {said}")
    assert "snapshot" not in found.charts["Keys by version"].finding


def test_versions_whose_files_retention_removed(built: Built) -> None:
    for partition in range(2):
        (built.folder(partition) / "1.changelog").unlink()
    charts = page(built.root).charts
    for title in ("Keys by version", "Changed keys by version"):
        said = " Retention removed the files that tell it of 1 version."
        assert charts[title].finding.endswith(said)


def test_a_full_partition_is_named(tmp_path: Path) -> None:
    built = Built(tmp_path / "checkpoint", partitions=5)
    keys = [(f"key-{n}",) for n in range(2000)]
    few = {p: [k for k in keys if built.partition_of(k) == p][:20] for p in range(5)}
    few[3] = [k for k in keys if built.partition_of(k) == 3][:64]
    built.batch({key: (1, 1) for found in few.values() for key in found})
    found = page(built.root)
    finding = found.charts["Keys per partition"].finding
    assert finding == "Partition 3 holds 3.2 times the median of 20 keys."


def test_a_single_partition_and_one_without_keys(tmp_path: Path) -> None:
    alone = grown(tmp_path / "alone", partitions=1)
    found = page(alone.root)
    assert "Its one partition has" in found.charts["Keys per partition"].finding
    empty = Built(tmp_path / "empty")
    empty.batch({("a",): (1, 1)}, commit=False)
    found = page(empty.root)
    assert found.charts["Keys per partition"].finding == "No partition has any keys."
    assert "no batch wrote any state" in found.untold["Keys per bucket"]
    assert "No batch is in Spark's commit log" in found.untold["Keys and changes by version"]
    assert "Batch 0 was planned and not committed" in found.text


def test_times_of_keys(tmp_path: Path) -> None:
    built = Aging(tmp_path / "checkpoint")
    hour = 3600
    times = {("a",): hour, ("b",): hour, ("c",): 5 * hour, ("d",): NEVER, ("e",): 0}
    built.batch_at({key: (at, (1, 1)) for key, at in times.items()}, horizon=hour)
    chart = page(built.root).charts["Keys by their time"]
    (trace,) = chart.traces.values()
    assert dict(zip(trace["x"], trace["y"], strict=True)) == {
        "1970-01-01 01:00:00": 2,
        "1970-01-01 05:00:00": 1,
    }
    assert chart.finding == (
        "Keys are of 1970-01-01 01:00:00 to 1970-01-01 05:00:00; what is before "
        "1970-01-01 01:00:00 has expired; 1 keys never expire."
    )


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_a_query_whose_operator_has_written_nothing_yet(tmp_path: Path, quick: list[str]) -> None:
    """Spark makes the operator's folder and plans the batch before a task writes state."""
    root = Built(tmp_path / "checkpoint").root
    Built(root).plan_batch(0)
    shutil.rmtree(root / "state/0")
    (root / "state/0").mkdir()
    output = tmp_path / "a.html"
    assert main(["report", str(root), "-o", str(output), *quick]) == 0
    found = Page(output)
    assert "Operators: there is no stateful operator yet" in found.text
    assert found.figures["Partitions"].startswith("0")


class Uneven(Aging):
    """Each partition has a horizon of its own: 0 is none."""

    horizons = (0, 0)

    def times_of(self, version: int, partition: int) -> Times | None:
        times = super().times_of(version, partition)
        return None if times is None else {**times, "horizon": self.horizons[partition]}


@pytest.mark.parametrize(
    ("horizons", "said", "listed"),
    [
        (
            (3600, 7200),
            "what is before 1970-01-01 01:00:00 has expired, and in some partitions what is before "
            "1970-01-01 02:00:00",
            "1970-01-01 01:00:00",
        ),
        (
            (0, 7200),
            "nothing has expired yet in some partitions, and in others what is before "
            "1970-01-01 02:00:00",
            "-",
        ),
        ((0, 0), "nothing has expired yet", "-"),
    ],
)
def test_partitions_of_which_not_the_same_has_expired(
    tmp_path: Path,
    horizons: tuple[int, int],
    said: str,
    listed: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    built = Uneven(tmp_path / "checkpoint")
    built.horizons = horizons
    late = 9 * 3600
    built.batch_at({(f"key-{n}",): (late, (1, 1)) for n in range(20)}, horizon=0, newest=late)
    finding = page(built.root, state=False).charts["Keys by their time"].finding
    assert finding.endswith(f"; {said}.")
    assert main(["inspect", str(built.root)]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if " all " in line)
    assert f" {listed} " in line


def test_keys_that_nobody_counted_have_no_share(tmp_path: Path) -> None:
    built = grown(tmp_path / "checkpoint")
    rewrite(built, 6, None)
    (operator,) = Checkpoint(built.root).overview().operators
    held = sum(store.residency.resident_keys for store in operator.stores if store.residency)
    (told,) = [c.finding for c in page(built.root).charts.values() if "At most" in c.finding]
    assert told.startswith(f"At most {held} keys: what changed")


def test_state_variables(tmp_path: Path) -> None:
    made = test_variables.grown(tmp_path / "checkpoint")
    found = page(made.root)
    for variable in Checkpoint(made.root).overview().operators[0].state_variables:
        assert variable.name in found.tables["State variables"]


def test_damage_is_named_and_the_rest_is_shown(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(built.folder(0) / "6.changelog", 30)
    output = built.root.parent / "report.html"
    assert main(["report", str(built.root), "-o", str(output)]) == 3
    assert "the checkpoint is DAMAGED" in capsys.readouterr().out
    found = Page(output)
    (problem,) = [f for f in Checkpoint(built.root).verify().findings if f.severity == "error"]
    grade, text = found.remarks[0]
    assert grade == "error"
    assert problem.what in text
    assert "6.changelog is damaged" in found.untold["Partition 0, default, cannot be read"]
    assert (
        "1 of 2 stores cannot be read, in the partitions 0"
        in found.untold["What a restart would do"]
    )
    assert next(iter(found.charts["Keys per partition"].traces.values()))["x"] == ["1"]
    assert "They cannot be told: " in found.untold["Keys and changes by version"]
    assert "in 0" not in found.figures["Keys"]
    assert "without 1 stores" in found.figures["Keys"]


def test_a_damaged_data_file_is_found_where_its_state_is_read(built: Built) -> None:
    run = next((built.folder(1) / "runs").iterdir())
    damage(run, 20)
    written = write_report(built.root, built.root.parent / "report.html")
    assert not written.ok
    found = Page(written.output)
    assert run.name in found.untold["Keys per bucket: partition 1"]
    assert [grade for grade, _ in found.remarks] == ["error"]
    assert page(built.root, state=False).remarks[-1][0] == "note"


def test_without_the_state(built: Built) -> None:
    found = page(built.root, state=False)
    assert "The state was not read" in found.untold["Keys per bucket"]
    assert found.remarks == [("note", found.remarks[0][1])]
    assert "They were not verified" in found.remarks[0][1]
    assert "Keys per partition" in found.charts


def test_batches(built: Built) -> None:
    none: dict[str, Any] = {"bucketedColdReads": 0}
    second = batches(20, run="second", first=20, **none)
    found = page(built.root, progress=[*batches(20, **none), *second])
    chart = found.charts["Batch time by phase"]
    assert chart.finding.startswith("A batch takes 1,000 ms (median), the slowest took 1,000 ms.")
    assert "addBatch takes 90% of the time" in chart.finding
    (trace,) = chart.traces.values()
    # Two places without a batch are around the restart.
    assert (len(trace["x"]), sum(trace["y"])) == (42, 40 * 900)
    assert [shape["x0"] for shape in chart.spec["layout"]["shapes"]] == ["2026-03-01 00:01:40.000"]
    assert "1 restart of the query" in found.text
    lag = found.charts["Snapshot lag of a store"]
    assert {value for value in lag.traces["behind"]["y"] if value is not None} == {4}
    assert "Engine: heap" in found.text
    assert (
        found.charts["Memory"].finding
        == "1000 B after the last batch, 1000 B at most: 10% of the limit."
    )
    assert "No batch looked a key up in files" in found.untold["Keys looked up in files"]
    assert found.figures["A batch takes"].startswith("1,000 ms")


def test_the_engine_is_told_by_metrics(built: Built) -> None:
    found = page(built.root, progress=batches(6, bucketedDbMemoryBytes=5))
    assert "Engine: rocksdb" in found.text
    later = batches(6, run="later", first=6)
    both = [*later, *batches(6, bucketedDbMemoryBytes=5)]
    assert "Engine: heap" in page(built.root, progress=both).text


def test_a_query_whose_name_is_half_a_character(built: Built) -> None:
    """JSON has such a text, and UTF-8 has no bytes for it."""
    named = [one | {"name": "a\ud800b", "id": "another"} for one in batches(3)]
    assert "a\\ud800b" in page(built.root, progress=named, state=False).text


def test_a_batch_of_a_time_that_python_has_none_for(built: Built) -> None:
    path = built.root / "offsets/5"
    version, planned, *sources = path.read_text().splitlines()
    changed = json.dumps(json.loads(planned) | {"batchTimestampMs": 10**18})
    path.write_text("\n".join([version, changed, *sources]))
    assert "Its last batch was planned" not in page(built.root, state=False).text


def test_metrics_that_are_not_there_are_told(built: Built) -> None:
    plain = batches(6)
    for one in plain:
        one["stateOperators"][0]["customMetrics"] = {}
    found = page(built.root, progress=plain)
    for title, metric in (
        ("Snapshot lag of a store", "bucketedSnapshotLag"),
        ("Keys looked up in files", "bucketedColdReads"),
        ("Bytes written", "bucketedChangelogBytes"),
    ):
        assert f"no metric {metric}" in found.untold[title]
    assert "its state is not in bucketstate" in found.remarks[-1][1]


def test_progress_of_others_is_left_out(built: Built) -> None:
    others = [progress(n, query="another") for n in range(3)]
    idle = progress(9, query=QUERY)
    del idle["durationMs"]["addBatch"]
    found = page(built.root, progress=[*others, idle])
    assert "has no batch of this checkpoint's query" in found.untold["Batches"]
    notes = " ".join(text for _, text in found.remarks)
    assert "3 progresses of other queries (the another) are left out" in notes
    assert "1 triggers that ran no batch are left out" in notes


def test_a_batch_that_is_in_several_files_is_shown_once(built: Built) -> None:
    each = batches(20)
    folder = built.root.parent
    Recorder.of(each[:12]).save(folder / "then.parquet")
    Recorder.of(each).save(folder / "now.parquet")
    others = [progress(n, query="another") for n in range(3)]
    event_log = folder / "local-1"
    event_log.write_text("\n".join(map(event, [*each[5:], *others, *others])))
    target = folder / "report.html"
    files = [str(folder / "then.parquet"), str(event_log), str(folder / "now.parquet")]
    given = [word for file in files for word in ("--progress", file)]
    assert main(["report", str(built.root), "--output", str(target), *given]) == 0
    found = Page(target)
    assert len(found.charts["Rows"].traces["input"]["x"]) == 20
    notes = " ".join(text for _, text in found.remarks)
    assert "30 progresses that were given before are left out: each counts once." in notes
    assert "3 progresses of other queries (the another) are left out" in notes


def test_progress_of_many_batches_of_two_queries() -> None:
    """Whose progress is another's is seen at its id: not by a look through all that is the own."""
    compared = 0

    class Compared(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        __hash__ = None

    own, others = batches(50), [progress(n, query="another") for n in range(50)]
    found = _batches([Compared(one) for one in [*own, *others]], QUERY)
    assert (len(found.progress), compared) == (50, 0)


def test_what_the_doctor_advises_comes_after_damage_and_before_notes(built: Built) -> None:
    damage(built.folder(0) / "1.changelog", 30)
    ill = batches(40, bucketedRepairs=1)
    found = page(built.root, progress=[*ill, *[progress(1, query="another")]])
    assert [grade for grade, _ in found.remarks] == ["error", "advice", "note"]
    advice = found.remarks[1][1]
    assert "Damaged snapshots were passed over" in advice
    assert "bucketedRepairs 39" in advice
    assert "Run `bucketstate verify`" in advice


@pytest.mark.parametrize("kind", ["parquet", "json", "recorder", "values"])
def test_progress_as_a_file_and_as_values(built: Built, kind: str) -> None:
    given = batches(8)
    path = built.root.parent / f"progress.{kind}"
    if kind == "parquet":
        Recorder.of(given).save(path)
    elif kind == "json":
        path.write_text("\n".join(map(json.dumps, given)))
    of: Any = {"recorder": Recorder.of(given), "values": map(json.dumps, given)}.get(kind, path)
    found = page(built.root, progress=of)
    assert len(found.charts["Rows"].traces["input"]["x"]) == 8


def test_text_of_data_is_text(tmp_path: Path) -> None:
    name = "<script>hacked=1<script>&\"'"
    built = grown(tmp_path / name)
    metadata = built.root / "state/0/_metadata/metadata"
    metadata.write_text(metadata.read_text().replace("stateStoreSave", "<img src=x onerror=x()>"))
    ill = batches(40, bucketedRepairs=1)
    for one in ill:
        one["name"] = "</script><b>query</b>"
        one["durationMs"]["</script><i>%{x}"] = 50
    written = write_report(built.root, tmp_path / "report.html", progress=ill)
    found = Page(written.output)
    assert name in found.text
    assert "0 (<img src=x onerror=x()>)" in found.text
    assert "</script><b>query</b>" in found.remarks[0][1]
    tags = [tag for tag, _ in found.tags]
    assert {"img", "b", "i"}.isdisjoint(tags)
    # Those of charts, the library, and what draws.
    assert tags.count("script") == len(found.charts) + 2
    phases = found.charts["Batch time by phase"].traces
    assert "&lt;/script&gt;&lt;i&gt;%\u200b{x}" in phases


def test_nothing_is_fetched(built: Built) -> None:
    found = page(built.root, progress=batches(8))
    assert not [tag for tag, _ in found.tags if tag in ("link", "img", "iframe", "object")]
    attributes = [set(of) for _, of in found.tags]
    assert not any(of & {"src", "href", "srcset", "action"} for of in attributes)
    policies = [of["content"] for _, of in found.tags if "http-equiv" in of]
    assert [policy and policy.startswith("default-src 'none'") for policy in policies] == [True]


def test_the_command(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    output = built.root.parent / "a.html"
    given = built.root.parent / "progress.json"
    given.write_text("\n".join(map(json.dumps, batches(8))))
    second = built.root.parent / "second.parquet"
    Recorder.of(batches(4, run="second", first=8)).save(second)
    both = ["--progress", str(given), "--progress", str(second)]
    assert main(["report", str(built.root), *both, "-o", str(output)]) == 0
    assert capsys.readouterr().out.startswith(f"{output} (")
    assert "What Spark reported of 12 batches" in Page(output).text
    again = ["report", str(built.root), "-o", str(output)]
    assert main([*again, "--quick"]) == 1
    assert "is there already: choose another name, or add --overwrite" in capsys.readouterr().err
    again.append("--overwrite")
    assert main([*again, "--quick", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"output": str(output), "bytes": output.stat().st_size, "ok": True}
    assert "Rows" not in Page(output).charts


def test_the_page_on_standard_output(built: Built, capfdbinary: Any) -> None:
    assert main(["report", str(built.root), "--quick", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")
    assert main(["report", str(built.root), "--json", "-o", "-"]) == 2
    assert b"leave out one" in capfdbinary.readouterr().err


def test_what_cannot_be_done(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = built.root.parent / "nowhere" / "a.html"
    with pytest.raises(BucketstateError, match=r"is no folder\. Give a file in a folder"):
        write_report(built.root, nowhere)
    with pytest.raises(BucketstateError, match="cannot be written"):
        write_report(built.root, built.root)
    with pytest.raises(NotACheckpointError, match="is not the checkpoint"):
        write_report(built.root.parent, built.root.parent / "a.html")
    assert not (built.root.parent / "a.html").exists()
    assert main(["report", str(built.root), "-o", str(nowhere)]) == 1
    assert "nowhere is no folder" in capsys.readouterr().err


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file may grow beyond the limit, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_page_that_cannot_be_written_whole_leaves_the_one_before(
    built: Built, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    output = folder / "a.html"
    output.write_text("before")
    with small_files(10_000), pytest.raises(BucketstateError, match=r"a\.html cannot be written"):
        write_report(built.root, output, state=False)
    assert output.read_text() == "before"
    assert [file.name for file in folder.iterdir()] == ["a.html"]


def test_a_page_follows_links_and_goes_into_pipes(built: Built, tmp_path: Path) -> None:
    real, link, pipe = (tmp_path / name for name in ("real.html", "link.html", "pipe"))
    link.symlink_to(real)
    written = write_report(built.root, link, state=False)
    assert (written.output, written.bytes) == (link, real.stat().st_size)
    assert link.is_symlink()
    os.mkfifo(pipe)
    read = tmp_path / "read.html"
    with read.open("wb") as out, subprocess.Popen(["cat", str(pipe)], stdout=out) as reader:
        count = write_report(built.root, pipe, state=False).bytes
        assert reader.wait(timeout=60) == 0
    assert read.stat().st_size == count
    assert pipe.is_fifo()


@pytest.mark.parametrize("wrong", [1, [1], ["{"], [{"id": QUERY}], [None]])
def test_what_is_no_progress(built: Built, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^progress.* give "):
        write_report(built.root, built.root.parent / "a.html", progress=wrong)


@pytest.mark.parametrize("name", NULLS)
def test_null_in_progress_is_as_what_is_not_there(built: Built, name: str) -> None:
    given = [with_values(one, NULLS[name]) for one in batches(8)]
    page(built.root, progress=given, state=False)


@pytest.mark.parametrize("among", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        *MALFORMED.values(),
        {"timestamp": "x"},
        {"timestamp": None},
        {"timestamp": 5},
        {"timestamp": "NaT"},
        {"timestamp": "0001-01-01T00:00:00.000Z"},
        {"eventTime": {"watermark": "x"}},
        {"numInputRows": "x"},
    ],
    ids=json.dumps,
)
def test_malformed_progress_is_refused(
    built: Built, values: dict[str, Any], among: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    given = batches(8)
    given = [with_values(p, values) if n == 3 or not among else p for n, p in enumerate(given)]
    output = built.root.parent / "a.html"
    with pytest.raises(InvalidArgumentError, match=r"^progress.* give "):
        write_report(built.root, output, progress=given)
    file = built.root.parent / "progress.json"
    file.write_text("\n".join(map(json.dumps, given)))
    command = ["report", str(built.root), "--progress", str(file), "-o", str(output)]
    assert main(command) == 2
    assert "give a file, a Recorder" in capsys.readouterr().err
    assert not output.exists()


def test_a_watermark_that_no_time_of_pandas_holds(built: Built) -> None:
    far = {"eventTime": {"watermark": "+56123-01-01T00:00:00.000Z"}}
    file = built.root.parent / "progress.parquet"
    Recorder.of(one | far for one in batches(8)).save(file)
    assert "What Spark reported of 8 batches" in page(built.root, progress=file).text


@pytest.mark.parametrize("zone", ["", "+02:00"])
def test_a_time_without_a_zone_is_in_utc(built: Built, zone: str) -> None:
    """Spark writes all of them with the zone Z, also where it is left out."""
    given = batches(8)
    given[3]["timestamp"] = "2026-03-01T00:00:15.000" + zone
    given[3]["eventTime"] = {"watermark": "2026-03-01T00:00:00"}
    (trace,) = page(built.root, progress=given).charts["Batch time by phase"].traces.values()
    there = "2026-02-28 22:00:15.000" if zone else "2026-03-01 00:00:15.000"
    assert there in trace["x"]


def test_a_checkpoint_that_is_open_already(built: Built) -> None:
    checkpoint = Checkpoint(built.root)
    assert checkpoint.restart_version == 6
    built.batch({("new",): (1, 1)})
    output = built.root.parent / "a.html"
    write_report(checkpoint, output)
    assert "Version 6, what a restart opens" in Page(output).text


def test_what_the_page_of_the_docs_says_runs(
    built: Built, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built.root.parent)
    Recorder.of(batches(8)).save("progress.parquet")
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    for line in "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines():
        command, *arguments = shlex.split(line)
        assert command == "bucketstate"
        assert main(arguments) == 0
    assert "Rows" in Page(Path("report.html")).charts
    assert "were not verified" in Page(Path("quick.html")).text
    Path("report.html").unlink()
    run_blocks("report.md")
    assert "Rows" in Page(Path("report.html")).charts
    capsys.readouterr()
