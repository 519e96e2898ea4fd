"""The figures of the pages: made of what `make bench` found, and of nothing else."""

from __future__ import annotations

import datetime
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bucketstate_nexmark.results import report, summary
from scripts.figures import kept, pages, picture
from scripts.figures.constants import constants
from scripts.figures.kept import Measured
from scripts.figures.outputs import FIGURES, PAGES, outputs
from scripts.figures.reports import READERS, Row
from scripts.figures.tables import TABLES, differing, versions

ROOT = Path(__file__).resolve().parents[2]

SPREAD = {"p50": 1.5, "p99": 3.25, "max": 4.0}
IN_A_JVM = {
    "provider": "bucketed",
    "keys": 1_000_000,
    "open": SPREAD,
    "getPut": SPREAD,
    "commit": SPREAD,
    "batch": SPREAD,
    "heapBytes": 180e6,
    "batchBytesPerUpdate": 100.0,
    "maintenanceBytesPerUpdate": 200.0,
    "resident": {"bytes": 1 << 30, "most": 2 << 30, "heap": 3},
    "loadOfOthers": 0.034,
}
LONG = {
    "provider": "bucketed",
    "keys": 1_000_000,
    "times": {"batch": SPREAD, "lag": {"mean": 11.0, "largest": 16}},
    "bytesPerUpdate": 303.2,
    "processorMicros": {"process": 2.0, "background": 0.74},
    "restart": {"firstGetMs": 4.6, "firstBatchMs": 44.4},
    "loadOfOthers": 0.01,
}
COLD: dict[str, Any] = {
    "provider": "bucketed",
    "keys": 1_000_000,
    "tail": 10,
    "jvm": "in a Spark application",
    **{
        name: {"median": 23.4, "max": 30.0}
        for name in ("initMs", "firstGetMs", "firstGetCpuMs", "firstBatchMs")
    },
    "loadOfOthers": 0.0,
}
IN_PYSPARK = {
    "provider": "bucketed",
    "batch_ms": 1319.5,
    "commits_ms": 199.0,
    "waited_ms": 0.0,
    "restart_ms": 9199,
    "resident": 1 << 31,
}
MOVED = [
    {"case": "rocksdb to bucketstate", "keys_of_state": 1000, "seconds": 2.0, "peak_mb": 700},
    {"case": "200 small stores of hdfs: counts", "keys_of_state": 20, "seconds": 9.4},
]

OF_KEYS = {
    "runs": [
        {
            "keys": keys,
            "results": [{"name": "by hand", "processor_millis": [20 * ms for ms in (1, 2, 4)]}],
        }
        for keys in (20_000, 200_000)
    ],
    "targets": [],
}
IN_MEMORY = [
    {"case": "a huge key", "many_keys": many, "jvm": 1060.2, "worker": 424.4}
    for many in (True, False)
]
OF_GROUPS = {
    "groups": 20,
    "results": [
        {
            "name": name,
            "millis": [100 * n, 200 * n],
            "cpu_millis": [10 * n, 10 * n],
            "memory_bytes": [400, 400],
            "written_bytes": [40, 40],
        }
        for name, n in {"by hand": 4, "dataclasses": 1}.items()
    ],
}
ASKED = {"PUT": 1.24, "requests per commit": 2.66, "commit ms": 22.5}
OLD = [
    {"keys": 1_000_000, "way": way, "batchMs": ms, "there": 5}
    for ms in (90.0, 95.0, 100.0)
    for way in ("expires", "is written again")
]
BY_KEY = {
    "provider": "bucketed",
    "keys": 200_000,
    "batch": SPREAD,
    "commit": SPREAD,
    "processorMs": 1450.0,
    "bytesPerRow": 223.0,
    "heapBytes": 2.0 * (1 << 20),
    "resident": {"bytes": 1 << 30, "most": 2 << 30, "heap": 3},
    "restartMs": 9810.0,
    "restartBatchMs": 8052.0,
    "restartLoad": 166.0,
    "emptyMs": 5626.0,
    "loadOfOthers": 0.02,
}
SMALL = {
    "provider": "bucketed",
    "stores": 600,
    "start_ms": 11_900,
    "batch_ms": 4100.0,
    "restart_ms": 15_700,
    "threads": 281,
    "resident": 1 << 30,
}
LARGE = {
    "keys": 100_000_000,
    "load_s": 1234.5,
    "batches": 3000,
    "batch_p50_ms": 800.0,
    "batch_p99_ms": 1600.0,
    "commits_p50_ms": 20.0,
    "restart_ms": 9000,
    "resident": 5 << 30,
    "checkpoint_bytes": 9 << 30,
    "verify": {"seconds": 60.0, "resident": 1},
    "report": {"seconds": 70.0, "resident": 1},
    "results": [{"ms": 800, "loads": False}],
}
_ONE_WAY = {
    "keys_a_second": 1234,
    "processor_us_a_key": 451.2,
    "slowest_call_ms": 20.0,
    "new_versions": 3,
}
LOOKED_UP = {
    "alone": {
        **dict.fromkeys(("get", "get_of_what_is_not_there"), _ONE_WAY),
        **dict.fromkeys(("get_many_of_100", "get_many_of_100_as_columns"), _ONE_WAY),
        "memory_bytes": 185 << 20,
    },
    "beside": {
        "ms_of_a_batch_alone": 330,
        "ms_of_a_batch_beside": 660,
        "ratios": [2.6, 1.7],
        "median_ratio": 2.013,
        "keys_a_second": 10_000,
        "batches_behind_at_most": 1,
        "processor_of_asking": 0.52,
        "slowest_call_ms": 31.5,
    },
}
STARTED = {
    contender: {
        start: {"session_ms": 4000.4, "done_ms": ms, "batch_ms": 3500.0}
        for start, ms in {"new": 9001.6, "again": 8000.0}.items()
    }
    for contender in ("rocksdb-default", "bucketed", "warm-up")
}


def _by_all(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Of every contender that a table may ask for, at both sizes, after both tails."""
    sizes = [{"keys": keys} for keys in (1_000_000, 4_000_000)] if "keys" in result else [{}]
    tails = [{"tail": tail} for tail in (10, 100)] if "tail" in result else [{}]
    return [
        {**result, "provider": provider, **size, **tail}
        for provider in ("hdfs", "rocksdb", "bucketed", "bucketed-rocksdb")
        for size in sizes
        for tail in tails
    ]


def _operations() -> list[dict[str, Any]]:
    one = {"keys": 10_000, "operation": "put", "perSecond": 1234567.8, "loadOfOthers": 0.0}
    return [{**one, "provider": provider} for provider in ("hdfs", "bucketed")]


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """One of each, as benchmarks write them."""
    shapes = {
        "_batches": {"results": _by_all(IN_A_JVM)},
        "_long_run": {"results": [*_by_all(LONG), {**LONG, "provider": "no-snapshots"}]},
        "_restart": {"results": _by_all(COLD)},
        "_operations": {"results": _operations()},
        "_end_to_end": _by_all(IN_PYSPARK),
        "_moving": MOVED,
        "_many_keys": OF_KEYS,
        "_many_keys_memory": IN_MEMORY,
        "_stateful": {**OF_GROUPS, "history": OF_GROUPS},
        "_requests": [{"provider": name, **ASKED} for name in ("hdfs", "rocksdb", "bucketed")],
        "_expiry": {"results": OLD},
        "_tws": {"results": [BY_KEY]},
        "_many_stores": [SMALL],
        "_large_state": LARGE,
        "_live": LOOKED_UP,
        "_first_batch": STARTED,
    }
    for name, reader in READERS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(shapes[reader.__name__]))
    (tmp_path / "unread.json").write_text("{}")
    return tmp_path


@pytest.fixture
def found(reports: Path) -> dict[str, Measured]:
    day = datetime.datetime(2026, 1, 2, 12).timestamp()
    for file in reports.iterdir():
        os.utime(file, (day, day))
    return kept.taken(reports, "1a2b3c4d")


def test_every_report_is_kept_with_its_version(found: dict[str, Measured], tmp_path: Path) -> None:
    assert set(found) == set(READERS)
    assert found["providers"].others == 0.034
    assert found["join"].others is None
    assert found["moving"].one(case="rocksdb to bucketstate", keys=1000) == {
        "case": "rocksdb to bucketstate",
        "keys": 1000,
        "seconds": 2.0,
        "peak": 700,
    }
    file = tmp_path / "kept.json"
    kept.write(file, found)
    assert kept.read(file) == found
    assert kept.read(tmp_path / "none.json") == {}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_a_table(name: str, found: dict[str, Measured]) -> None:
    head, rule, *rows = TABLES[name](found).split("\n\n")[0].splitlines()
    assert set(rule) <= set("|- ")
    assert rows
    assert {row.count("|") for row in [head, rule, *rows]} == {head.count("|")}


def test_figures_are_written_for_people(found: dict[str, Measured]) -> None:
    made = TABLES["batches"](found)
    assert "| 1 M | bucketstate | 1.5 | 1.5 | 1.5 | 1.5 | 180 |" in made
    assert "| 1 M | RocksDB, changelog on | 1.5 | 1.5 | 1.5 | 1.5 | - |" in made
    assert made.endswith("Version 1a2b3c4d, 2026-01-02, others' CPU at most 3 %.")
    assert "| batch, ms | 1,320 | 1,320 | 1,320 | 1,320 |" in TABLES["join"](found)
    assert "| 10 k keys: put | 1,235,000 | - | 1,235,000 |" in TABLES["operations"](found)
    assert "| 200 small stores of hdfs: counts | 20 | 9.4 |" in TABLES["moving-small"](found)
    assert "| rocksdb to bucketstate | 2.0 | 500 | 700 |" in TABLES["moving"](found)
    assert "100 changelogs to replay, ms | 23 | 23 | 23 |" in TABLES["readme"](found)
    assert "snapshots beside them, ms | 1.5 and 3.2 |" in TABLES["readme"](found)
    assert "| requests of a commit on S3A, all kinds | 2.7 | 2.7 | 2.7 |" in TABLES["readme"](found)
    assert "| by hand | 2.0 | 0.2 |" in TABLES["many-keys"](found)
    assert "| a huge key | 1,060 and 424 | 1,060 and 424 |" in TABLES["many-keys-memory"](found)
    assert "| dataclasses | 150 | 0.25 | 500 | 0.25 | 20 | 2 |" in TABLES["stateful"](found)
    assert "| dataclasses | 20 | 2 |" in TABLES["histories"](found)
    assert "| bucketed | 1.2 | 2.7 | 22.5 |" in TABLES["requests"](found)
    assert "| 1 M | expires | 95.0 |" in TABLES["expiry"](found)
    assert "| bucketstate | 9,810 | 8,052 | 166 | 5,626 |" in (TABLES["tws-restarts"](found))
    assert "| Row, HDFSBacked | 1,320 | 199 | 0 | 9,199 |" in TABLES["tws-in-python"](found)
    assert "| 281 | 1,024 |" in TABLES["many-stores"](found)
    assert "| checkpoint, MiB | 9,216 |" in TABLES["large-state"](found)
    made = TABLES["looking-up"](found)
    assert "| `get` of a key that is not there | 1,234 | 451 | 20.0 |" in made
    assert "beside" not in made
    made = TABLES["looked-up-beside"](found)
    assert "| memory of the process that asks, MiB | 185 |" in made
    assert "| times as long, median of the pairs | 2.01 |" in made
    assert "| times as long, the least | 1.70 |\n| times as long, the most | 2.60 |" in made
    made = TABLES["first-batches"](found)
    assert "| RocksDB as it comes, a new query | 4,000 | 9,002 | 3,500 |" in made
    assert "| bucketstate, a new query | 4,000 | 9,002 | 3,500 |" in made
    assert "| bucketstate, `jvmWarmUp=2000`, restarted | 4,000 | 8,000 | 3,500 |" in made


def test_a_table_says_of_which_version_each_of_its_reports_is(found: dict[str, Measured]) -> None:
    older = {**found, "native": replace(found["native"], version="0f0f0f0f", others=None)}
    assert TABLES["second-engine"](older).endswith(
        "\n\n`native`: Version 0f0f0f0f, 2026-01-02. "
        "`native-large`: Version 1a2b3c4d, 2026-01-02, others' CPU at most 3 %. "
        "`native-short`: Version 1a2b3c4d, 2026-01-02, others' CPU at most 3 %."
    )
    assert TABLES["second-engine"](found).count("Version") == 1


def test_figures_of_more_than_one_version_are_warned_of(found: dict[str, Measured]) -> None:
    assert differing(found) is None
    assert "**" not in versions(found)
    older = {**found, "native": replace(found["native"], version="0f0f0f0f")}
    said = differing(older)
    assert said is not None
    assert "of 2 versions, " in said
    assert "Fewest are of 0f0f0f0f: native. One run of `make bench`" in said
    assert versions(older).endswith(f"\n\n**{said}**")


def test_a_table_without_its_report_stays_and_says_so(found: dict[str, Measured]) -> None:
    page = "<!-- figures: tws-in-python -->\n\n| a | table |\n\n<!-- end of figures -->\n"
    kept_ = {name: measured for name, measured in found.items() if name != "tws-rows"}
    made = pages.filled("a page", page, kept_)
    assert "| a | table |\n\nNo report of this table is kept" in made
    assert pages.filled("a page", made, kept_) == made
    assert "No report" not in pages.filled("a page", made, found)
    empty = page.replace("| a | table |", "")
    made = pages.filled("a page", empty, kept_)
    assert "No report of this table is kept: it was not measured yet." in made
    assert pages.filled("a page", made, kept_) == made


def test_a_page_keeps_all_but_its_tables(found: dict[str, Measured]) -> None:
    page = "# A\n\n<!-- figures: join -->\nwhat was before\n<!-- end of figures -->\n\nB\n"
    made = pages.filled("a page", page, found)
    assert made.startswith("# A\n\n<!-- figures: join -->\n\n| | ")
    assert made.endswith("<!-- end of figures -->\n\nB\n")
    assert "what was before" not in made
    assert pages.filled("a page", made, found) == made
    assert pages.names_in(made) == ["join"]


def test_the_picture_has_the_stores_of_the_largest_states() -> None:
    stores = {"hdfs": 1000.0, "hashmap": 5.0, "bucketed": 20.0}
    rows: list[Row] = [
        {"provider": name, "keys": 1_000_000, "p50": ms} for name, ms in stores.items()
    ]
    drawn = picture.batches(Measured("", "", None, rows))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert texts == ["1 M keys in the state", "HDFSBacked", "1,000.0 ms", "bucketstate", "20.0 ms"]
    assert re.findall(r'width="([0-9.]+)" height', drawn) == ["360.0", "7.2"]


def test_without_the_stores_there_is_no_picture() -> None:
    with pytest.raises(ValueError, match="has none of the state stores"):
        picture.batches(Measured("", "", None, []))


def restarts(*seconds: tuple[int, int, float]) -> Measured:
    """Of so many keys, after so many changelogs, so many milliseconds."""
    same: Row = {"provider": "bucketed", "jvm": "in a Spark application", "first get": 100.0}
    rows: list[Row] = [
        {**same, "keys": keys, "tail": tail, "first batch": ms} for keys, tail, ms in seconds
    ]
    return Measured("", "", None, rows)


def fitted(found: dict[str, Measured], restart: Measured) -> dict[str, float]:
    return {c.name: c.value for c in constants({**found, "restart": restart})}


def test_restarts_of_one_size_give_keys_what_the_first_get_leaves(
    found: dict[str, Measured],
) -> None:
    one = fitted(found, restarts((1_000_000, 10, 680.0), (1_000_000, 100, 1_400.0)))
    assert one["RESTART_SECONDS_PER_UPDATE"] == 0.4e-6
    assert one["RESTART_SECONDS"] == 0.1
    assert one["RESTART_SECONDS_PER_KEY"] == 0.5e-6


def test_restarts_of_more_sizes_give_keys_their_own_share(found: dict[str, Measured]) -> None:
    sizes = [(keys, tail) for keys in (100_000, 1_000_000, 4_000_000) for tail in (10, 100)]
    measured = [(k, tail, 300 + k * 0.00031 + tail * 20_000 * 0.00042) for k, tail in sizes]
    many = fitted(found, restarts(*measured))
    assert many["RESTART_SECONDS_PER_UPDATE"] == pytest.approx(0.42e-6)
    assert many["RESTART_SECONDS"] == pytest.approx(0.3)
    assert many["RESTART_SECONDS_PER_KEY"] == pytest.approx(0.31e-6)


@pytest.mark.parametrize(
    ("restart", "said"),
    [
        (restarts(), "has no restart of bucketstate in a Spark application"),
        (restarts((1_000_000, 10, 680.0)), "has one number of changelogs at 1,000,000 keys"),
    ],
)
def test_restarts_that_say_too_little(
    restart: Measured, said: str, found: dict[str, Measured]
) -> None:
    with pytest.raises(ValueError, match=said):
        constants({**found, "restart": restart})


def test_every_report_of_the_makefile_has_a_reader() -> None:
    """But for those whose figures no table has, and why."""
    made = set(re.findall(r"artifacts/bench/([\w-]+)\.json", (ROOT / "Makefile").read_text()))
    without = {
        "providers-hadoop": "counts calls of the file system, for whoever changes them",
        "soak": "is drawn by python/bench/pictures.py",
        "soak-rocksdb": "the same",
    }
    assert made == set(READERS) | set(without)


def test_sentences_of_what_it_costs_are_those_of_the_figures() -> None:
    figures = kept.read(ROOT / FIGURES)
    text = " ".join((ROOT / "docs/what-it-costs.md").read_text().split())

    def of(name: str, provider: str, field: str, **where: int) -> float:
        row = figures[name].one(provider=provider, **where)
        assert row is not None
        return float(row[field])

    gains = [
        of(name, other, "batch") / of(name, "bucketed", "batch")
        for name in ("partitions", "end-to-end", "join")
        for other in ("hdfs", "rocksdb")
    ]
    assert f"the gain was [{min(gains):.1f} to {max(gains):.1f} times]" in text
    ours, theirs = (
        of("providers", provider, "commit", keys=4_000_000) for provider in ("bucketed", "hdfs")
    )
    assert f"a commit that takes {ours:.0f} ms in place of {theirs:.0f}" in text


def test_what_is_said_of_nexmark_is_what_its_figures_say() -> None:
    found = summary.figures(report.read(ROOT / "docs/measured-nexmark.json"))
    ours = {b.other: b for b in summary.beside(found) if b.ours == "bucketed"}
    hdfs, tuned = (ours[other].throughput for other in ("hdfs", "rocksdb-tuned"))
    least = min(beside.least for beside in ours.values())

    def text(page: str) -> str:
        return " ".join((ROOT / page).read_text().split())

    assert (
        f"it was {hdfs:.1f} times beside HDFSBacked and {tuned:.1f} times beside a tuned RocksDB "
        f"in the mean, and {least:.1f} times at the least"
    ) in text("docs/what-it-costs.md")
    assert f"beside a tuned RocksDB is {tuned:.1f} times in the mean" in text("README.md")


def test_no_figure_of_the_pages_is_typed_by_hand() -> None:
    for page in PAGES:
        assert pages.names_in((ROOT / page).read_text()), page
    for path, text in outputs(ROOT, kept.read(ROOT / FIGURES)).items():
        assert path.read_text() == text, f"{path.name}: run python -m scripts.figures"
