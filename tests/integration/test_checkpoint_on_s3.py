"""A real checkpoint on S3 is read as it is on the local disk, also where S3 is not at its best."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.errors import NotACheckpointError, StorageError
from tests.integration.streams import events, run_with_restart
from tests.kit.cases import at_night
from tests.kit.storage.object_store import BUCKET, CREDENTIALS, Faults, moto, proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with moto() as port:
        yield port


def s3(port: int, **options: Any) -> fs.S3FileSystem:
    return fs.S3FileSystem(
        access_key=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        secret_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        region="us-east-1",
        **options,
    )


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    key = "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions"
    spark.conf.set(key, "2")
    try:
        run_with_restart(
            spark,
            folder,
            lambda source: source.groupBy("key").agg(F.count("*").alias("n"), F.sum("value")),
            events(),
            mode="update",
        )
    finally:
        spark.conf.unset(key)
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def uploaded(port: int, local: Path) -> str:
    """The checkpoint's path in S3."""
    store = s3(port, allow_bucket_creation=True)
    store.create_dir(BUCKET)
    fs.copy_files(str(local), f"{BUCKET}/a/checkpoint", destination_filesystem=store)
    return f"{BUCKET}/a/checkpoint"


@pytest.fixture
def uri(port: int, uploaded: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return f"s3a://{uploaded}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_commands_answer_as_they_do_locally(
    capsys: pytest.CaptureFixture[str], local: Path, uri: str, tmp_path: Path
) -> None:
    where = uri.partition("?")[0]
    for command in (["inspect", "--buckets"], ["verify"], ["show", "--limit", "0"]):
        here = said(capsys, command[0], str(local), *command[1:], "--json")
        there = said(capsys, command[0], uri, *command[1:], "--json")
        if command[0] == "verify":
            assert json.loads(here)["ok"]
        assert there.replace(where, str(local)) == here, command
    tables = []
    for name, source in (("here", str(local)), ("there", uri)):
        said(capsys, "export", source, str(tmp_path / f"{name}.parquet"))
        tables.append(pq.read_table(tmp_path / f"{name}.parquet"))
    assert tables[0].num_rows > 0
    assert tables[0].equals(tables[1])


def test_errors_503_and_answers_that_are_cut_change_nothing(
    port: int, uploaded: str, local: Path
) -> None:
    faults = Faults(unavailable=7, cut=5, once=True)
    with proxy(port, faults) as flaky:
        checkpoint = Checkpoint(uploaded, s3(flaky))
        assert checkpoint.verify().ok
        assert checkpoint.scan().to_arrow().equals(Checkpoint(local).scan().to_arrow())
    assert faults.happened["unavailable"] > 0
    assert faults.happened["cut"] > 0


def test_an_object_that_is_missing_is_found(port: int, uploaded: str, local: Path) -> None:
    store = s3(port)
    fs.copy_files(uploaded, f"{BUCKET}/b", source_filesystem=store, destination_filesystem=store)
    newest = Checkpoint(local).plan()
    name = newest.described_by.rsplit("/", 1)[1]
    store.delete_file(f"{BUCKET}/b/state/0/0/{name}")
    report = Checkpoint(f"{BUCKET}/b", store).verify()
    assert not report.ok
    assert any(name in f.what for f in report.findings if f.severity == "error")


def test_no_such_bucket_or_folder(uri: str) -> None:
    with pytest.raises(NotACheckpointError, match="nowhere does not exist"):
        Checkpoint(uri.replace("a/checkpoint", "nowhere"))
    with pytest.raises((NotACheckpointError, StorageError), match=r"s3a?://other/checkpoint"):
        Checkpoint(uri.replace(f"{BUCKET}/a", "other"))


def test_a_server_that_does_not_answer_says_what_to_look_at(port: int) -> None:
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=1)
    with proxy(port, Faults(unavailable=1)) as broken:
        store = s3(broken, retry_strategy=retries)
        with pytest.raises(StorageError, match=f"{BUCKET}/a/checkpoint.* cannot be read"):
            Checkpoint(f"{BUCKET}/a/checkpoint", store).scan().to_arrow()


def test_a_savepoint(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds what batch 5 made" in said(capsys, "savepoint", "create", uri, "nightly")
    assert main(["savepoint", "create", uri, "nightly"]) == 1
    assert "has a savepoint 'nightly'" in capsys.readouterr().err
    (found,) = json.loads(said(capsys, "savepoint", "list", uri, "--json"))
    assert (found["name"], found["batch"], found["bytes"]) == ("nightly", 5, 0)
    assert "nightly" in said(capsys, "inspect", uri)
    assert json.loads(said(capsys, "verify", uri, "--json"))["ok"]
    said(capsys, "savepoint", "drop", uri, "nightly")
    assert said(capsys, "savepoint", "list", uri) == "no savepoints\n"


@at_night
def test_s3_that_has_no_time_is_asked_five_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    asked = []

    class Busy(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.send_error(503)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=here"
        with pytest.raises(StorageError, match="a/checkpoint cannot be read"):
            Checkpoint(f"s3://states/a/checkpoint?{at}")
        server.shutdown()
    assert len(asked) == 5
