"""What people ask for, and what they are told where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bucketstate_nexmark import options
from bucketstate_nexmark.cli import main
from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.events.files import Amount
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.results import report
from bucketstate_nexmark.runs.contenders import CONTENDERS, chosen, is_local
from bucketstate_nexmark.runs.turns import Conditions


def test_forms_come_in_their_own_order_and_once() -> None:
    assert [form.name for form in options.forms("q18-typed, q3,q3")] == ["q3", "q18-typed"]
    every = [form.name for form in options.forms("q18-*")]
    assert every == ["q18", "q18-typed", "q18-columns", "q18-tws"]


@pytest.mark.parametrize(
    ("text", "number"), [("5000", 5000), ("500k", 500_000), ("10M", 10_000_000), ("2m", 2_000_000)]
)
def test_numbers_may_be_short(text: str, number: int) -> None:
    assert options.count("--events", text) == number


@pytest.mark.parametrize("text", ["", "k", "-5", "1.5M", "many", "0"])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"--events: .* is no number"):
        options.count("--events", text)


def test_memory_is_in_mebibytes() -> None:
    assert options.memory("--memory", "3g") == 3072
    for wrong in ("3", "100m", "g", ""):
        with pytest.raises(UsageError, match="--memory"):
            options.memory("--memory", wrong)


def test_all_contenders_have_the_same_memory() -> None:
    for contender in CONTENDERS.values():
        settings = contender.to_spark(3072)
        heap = int(settings["spark.driver.memory"].removesuffix("m"))
        limits = [settings[key] for key in settings if key.endswith(("MB", "maxBytes"))]
        assert heap + sum(int(limit.removesuffix("m")) for limit in limits) <= 3072
        assert (heap == 3072) == (not contender.native)


def test_executors_of_all_contenders_have_the_same_memory() -> None:
    totals = set()
    for contender in CONTENDERS.values():
        settings = contender.to_spark(3072, "spark://host:7077")
        heap, overhead, driver = (
            int(settings[f"spark.{key}"].removesuffix("m"))
            for key in ("executor.memory", "executor.memoryOverhead", "driver.memory")
        )
        assert heap == (2048 if contender.native else 3072)
        limits = [settings[key] for key in settings if key.endswith(("MB", "maxBytes"))]
        assert all(int(limit.removesuffix("m")) == 3072 - heap for limit in limits)
        totals.add((heap + overhead, driver))
    assert totals == {(3072 + 384, 3072)}
    assert "spark.executor.memory" not in CONTENDERS["bucketed"].to_spark(3072, "local[2]")


@pytest.mark.parametrize(
    ("master", "alone"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[2, 3]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://host:7077", False),
        ("yarn", False),
    ],
)
def test_a_local_master_has_executors_in_the_drivers_process(master: str, alone: bool) -> None:
    assert is_local(master) == alone


def test_a_contender_has_its_own_provider_settings_alone() -> None:
    tuned = CONTENDERS["rocksdb-tuned"].to_spark(3072)
    assert tuned["spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB"] == "1024"
    engine = CONTENDERS["bucketed-rocksdb"].to_spark(3072)
    assert engine["spark.sql.streaming.stateStore.bucketed.memory.maxBytes"] == "1024m"
    assert not CONTENDERS["hdfs"].takes(FORMS["q18-tws"])
    assert [contender.name for contender in chosen("hdfs, rocksdb,hdfs")] == ["hdfs", "rocksdb"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--queries", "q3,q99"], "--queries: there is no q99, only q0, q3, q3-typed, q4"),
        (["--queries", ","], "--queries: there is no query in an empty list"),
        (["--contenders", "mysql"], "--contenders: there is no mysql, only hdfs, rocksdb"),
        (["--events", "lots"], "--events: lots is no number"),
        (["--events", "100k"], "--events: 100k are 1 batches of 100,000, and at least 3"),
        (["--rate", "10"], "--rate: 10 is no number of at least 1,000"),
        (["--memory", "64m"], "--memory: 64m is no size"),
        (["--conf", "nonsense"], "--conf: nonsense is not of the form KEY=VALUE"),
        (["--queries", "q9-tws", "--contenders", "hdfs"], "--contenders: none of them can run"),
        (["--report", "nowhere.json"], "nowhere.json: no report can be read there"),
    ],
)
def test_what_cannot_be_is_named_with_code_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--work", str(tmp_path), *arguments]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert "Traceback" not in said.err
    assert not [*tmp_path.iterdir()], "nothing is made of what cannot be"


def test_a_report_of_other_conditions_is_not_resumed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    report.write(
        file, Conditions(Model(), Amount(5, 1), "noop", "local[2]", 2, 4, 3072, 60), None, []
    )
    before = file.read_text()
    assert main(["--work", str(tmp_path), "--resume", "--queries", "q7"]) == 2
    assert "--resume:" in capsys.readouterr().err
    assert file.read_text() == before


def test_the_list_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (*FORMS, *CONTENDERS))
