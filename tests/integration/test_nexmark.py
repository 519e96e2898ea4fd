"""Queries of Nexmark on real Spark, each answer beside DuckDB's; all forms at night."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bucketstate.config import PROVIDER_KEY
from bucketstate_nexmark.answers.compare import compare
from bucketstate_nexmark.cli import main
from bucketstate_nexmark.events.files import Amount, Files, offer, offer_closing, write
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.results.report import read
from bucketstate_nexmark.runs import stream
from bucketstate_nexmark.runs.contenders import CONTENDERS
from tests.kit.cases import at_night, cases
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODEL = Model(rate=1000)
AMOUNT = Amount(events=6_000, per_batch=2_000)

CASES = cases(
    [("q5", "hdfs"), ("q5", "bucketed")],
    [
        (form.name, contender.name)
        for form in FORMS.values()
        for contender in CONTENDERS.values()
        if contender.takes(form) and contender.name in ("rocksdb-tuned", "bucketed")
    ],
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write(tmp_path_factory.mktemp("events"), MODEL, AMOUNT)


@pytest.mark.parametrize(("form", "contender"), CASES)
def test_the_answer_is_that_of_duckdb(
    spark: SparkSession, made: Files, tmp_path: Path, form: str, contender: str
) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    provider = CONTENDERS[contender].to_spark(1024)[PROVIDER_KEY]
    last = AMOUNT.batches - 1
    with settings(spark, {**stream.SETTINGS, PROVIDER_KEY: provider}):
        # Stopped before the last batch, and started again.
        for batches in (range(last), range(last, last + 1)):
            offer(made, source, batches)
            if batches.stop > last:
                offer_closing(made, source)
            said, since_start = stream.run(
                spark, FORMS[form], MODEL, source, f"{tmp_path}/checkpoint", output
            )
            assert said
            assert since_start > 0
    found = compare(FORMS[form], made, output)
    assert found.equal, found.examples
    assert found.rows > 0


@at_night
@pytest.mark.timeout(900)
def test_processes_in_turns_leave_a_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    amount = ["--events", "6k", "--per-batch", "1k", "--rate", "1k", "--memory", "1g"]
    asked = ["--queries", "q7,q18-tws", "--contenders", "hdfs,bucketed"]
    assert main([*amount, *asked, "--work", str(tmp_path)]) == 0
    said = capfd.readouterr()
    assert "[3/3] q18-tws on bucketed:" in said.err
    assert "All 3 answers that were checked are those of DuckDB." in said.out
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"events", "logs", "report.json", "report.md"}, "nothing to draw beside"
    assert main([*amount, *asked, "--work", str(tmp_path), "--resume"]) == 0
    assert "[1/" not in capfd.readouterr().err, "all of it has run"
    assert main(["--report", str(tmp_path / "report.json")]) == 0


@at_night
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("contender", ["bucketed", "bucketed-rocksdb"])
def test_executors_of_their_own_and_200_partitions(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    contender: str,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    amount = ["--events", "6k", "--per-batch", "2k", "--rate", "1k", "--memory", "1g"]
    cluster = ["--master", "local-cluster[2,1,1024]", "--cores", "2", "--partitions", "200"]
    asked = ["--queries", "q17", "--contenders", contender]
    assert main([*amount, *cluster, *asked, "--work", str(tmp_path)]) == 0
    said = capfd.readouterr()
    assert "All 1 answers that were checked are those of DuckDB." in said.out
    assert "200 partitions on 2 cores" in said.out
    assert "Events for each second of processors" not in said.out
    (run,) = read(tmp_path / "report.json").runs
    assert (run.cpu_seconds, run.peak_bytes) == (None, None)
