"""`bucketstate size`: the model gives back the figures that it is made of."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import InvalidSettingError, sizing
from bucketstate.cli import main
from bucketstate.sizing import Workload, reckon
from scripts.figures import kept
from scripts.figures.constants import constants
from scripts.figures.outputs import FIGURES as KEPT

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FIGURES = kept.read(ROOT / KEPT)

# That of the benchmarks: one partition, 20,000 updates of 168 bytes a batch, snapshots after 10.
BENCHMARK: dict[str, Any] = {"record_bytes": 168, "updates": 20_000, "partitions": 1}


def test_the_constants_are_those_that_the_figures_give() -> None:
    """If not: `python -m scripts.figures` writes them."""
    fitted = {constant.name: constant.value for constant in constants(FIGURES)}
    assert len(fitted) == 9
    assert {name: getattr(sizing, name) for name in fitted} == fitted


def test_heap_has_room_for_what_was_measured() -> None:
    """The largest state, once its snapshots are made; a key takes little more than its record."""
    row = max(FIGURES["providers"].of(provider="bucketed"), key=lambda row: int(row["keys"]))
    found = reckon(Workload(keys=int(row["keys"]), batch_seconds=1, **BENCHMARK))
    assert found.memory_bytes >= float(row["heap"])
    older = found.uncovered_updates * (168 + sizing.UNCOVERED_BYTES)
    assert found.memory_bytes - older == pytest.approx(float(row["heap"]), rel=0.01)


def test_bytes_written_are_as_measured() -> None:
    (row,) = FIGURES["long-run"].of(provider="bucketed")
    found = reckon(Workload(keys=int(row["keys"]), batch_seconds=1, **BENCHMARK))
    assert found.written_per_second == pytest.approx(float(row["written"]) * 20_000, rel=0.01)


def test_restarts_take_as_long_as_measured() -> None:
    rows = FIGURES["restart"].of(provider="bucketed", jvm="in a Spark application")
    assert rows
    for row in rows:
        # The newest snapshot may be twice its interval behind: that is what the time is for.
        versions = int(row["tail"]) // sizing.LAG
        given_ = BENCHMARK | {"partitions": 20, "snapshot_versions": versions}
        found = reckon(Workload(keys=int(row["keys"]), **given_))
        # A line through several sizes meets none of them; through one it does.
        assert found.restart_seconds * 1000 == pytest.approx(float(row["first batch"]), rel=0.2)


def test_a_heap_of_which_auto_is_enough() -> None:
    """As `memory.maxBytes` says what auto is."""
    for keys in (1_000, 1_000_000, 100_000_000):
        found = reckon(Workload(keys=keys, **BENCHMARK))
        auto = max(0.75 * (found.heap_bytes - (300 << 20)) * 0.4, found.heap_bytes / 10)
        assert auto == pytest.approx(found.memory_bytes, rel=0.001)


def test_many_bytes_of_changelog_make_snapshots_due_earlier() -> None:
    small = reckon(Workload(keys=10_000_000, record_bytes=100, updates=100_000, partitions=100))
    assert small.snapshot_seconds == 100
    large = reckon(Workload(keys=10_000_000, record_bytes=1000, updates=100_000, partitions=1))
    assert large.snapshot_seconds == 10
    assert large.uncovered_updates == 200_000


@given(st.integers(1, 10**12), st.integers(1, 10**6), st.integers(1, 10**9), st.integers(1, 10_000))
def test_more_executors_take_less_each(keys: int, size: int, updates: int, executors: int) -> None:
    work = {"keys": keys, "record_bytes": size, "updates": updates}
    one, many = (reckon(Workload(**work, executors=n)) for n in (1, executors))
    assert many.memory_bytes <= one.memory_bytes
    assert many.restart_seconds <= one.restart_seconds
    assert many.rewritable_files >= one.rewritable_files
    assert many.state_bytes == one.state_bytes
    assert 64 <= one.num_buckets <= 32_768
    assert one.num_buckets.bit_count() == 1


@pytest.mark.parametrize("field", ["keys", "updates", "batch_seconds", "executors", "bandwidth"])
@pytest.mark.parametrize("value", [0, -1, 5e-324, float("nan"), float("inf"), 1e300, True, "many"])
def test_a_number_that_cannot_be(field: str, value: Any) -> None:
    given_: dict[str, Any] = {"keys": 1, "record_bytes": 1, "updates": 1, field: value}
    with pytest.raises(InvalidSettingError, match=f"{field} is .*: it must be a number of at"):
        Workload(**given_)


def test_the_largest_numbers_of_all() -> None:
    most = 2**63
    for batch_seconds in (0.001, float(most)):
        work = Workload(
            keys=most,
            record_bytes=most,
            updates=most,
            batch_seconds=batch_seconds,
            partitions=most,
            executors=most,
            snapshot_versions=most,
            bandwidth=most,
        )
        assert reckon(work).num_buckets == 64


@pytest.mark.parametrize("json_", [[], ["--json"]])
@pytest.mark.parametrize("seconds", ["0.001", str(2**63)])
@pytest.mark.parametrize("bandwidth", ["1", str(2**63)])
@pytest.mark.parametrize("others", ["1", str(2**63)])
def test_the_largest_and_the_least_numbers_are_told(
    capsys: pytest.CaptureFixture[str], others: str, bandwidth: str, seconds: str, json_: list[str]
) -> None:
    most = str(2**63)
    words = ["--keys", most, "--bytes", most, "--updates", most, "--batch-seconds", seconds]
    cluster = ["--partitions", others, "--executors", others, "--snapshot-versions", others]
    assert main(["size", *words, *cluster, "--bandwidth", bandwidth, *json_]) == 0
    assert capsys.readouterr().out


def examples(page: str) -> list[tuple[list[str], str]]:
    """The commands of a page, each with what the page says that it prints."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(
        r"```sh\n(bucketstate size [^\n]*)\n```\n\n```text\n(.*?)```", text, re.DOTALL
    )
    return [(shlex.split(command)[1:], printed) for command, printed in found]


@pytest.mark.parametrize(("page", "number"), [("tuning.md", 1), ("what-it-costs.md", 3)])
def test_the_commands_of_a_page_print_what_the_page_has(
    capsys: pytest.CaptureFixture[str], page: str, number: int
) -> None:
    assert len(examples(page)) == number
    for words, printed in examples(page):
        assert main(words) == 0
        assert capsys.readouterr().out == printed


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    ((words, _),) = examples("tuning.md")
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["workload"]["keys"] == 20_000_000
    assert said["size"]["num_buckets"] == 64


def test_what_is_too_much_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    given_ = ["--keys", "1g", "--bytes", "1k", "--updates", "1m", "--batch-seconds", "1"]
    assert main(["size", *given_, "--bandwidth", "100m"]) == 0
    out = capsys.readouterr().out
    assert "1748% of what it can: TOO MUCH" in out
    assert "LONGER to merge" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--keys", "many"], "argument --keys: 'many' is no number such as 500, 20k or 1.5m"),
        (["--keys", "-5"], "argument --keys: '-5' is no number such as"),
        (
            ["--keys", "9" * 400],
            f"argument --keys: '{'9' * 20}...' is too large: give at most 2**63",
        ),
        (["--keys", "9" * 308 + "g"], "9...' is too large: give at most 2**63"),
        (["--keys", "1", "--bandwidth", "9" * 5000], "99...' is too large: give at most 2**63"),
        (["--keys", "1", "--partitions", "9" * 5000], "argument --partitions: "),
        (["--keys", "1", "--batch-seconds", "soon"], "argument --batch-seconds: "),
    ],
)
def test_what_is_no_number(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["size", "--bytes", "1", "--updates", "1", *words])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_none_is_a_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--keys", "0", "--bytes", "1", "--updates", "1"]) == 2
    said = "keys is 0: it must be a number of at least 1, and at most 2**63"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["1e-305", "5e-324", "0", "0.0009", "inf", "nan", "1e999"])
def test_a_batch_takes_a_millisecond_and_ends(
    capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    words = ["--keys", "1", "--bytes", "1", "--updates", "1", "--batch-seconds", seconds]
    assert main(["size", *words]) == 2
    said = f"batch_seconds is {float(seconds)}: it must be a number of at least 0.001, and at most"
    assert said in capsys.readouterr().err
