"""Figures that a page repeats are those of the section that it names as their source.

A table whose last column is `from` links each row to a section; `the same` is that of the row
above. In tables that are made of reports the best of a figure is in bold, whoever has it; and
what a figure depends on stands beside it, as the benchmark's source has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bucketstate.registry import registry
from scripts.figures import kept
from scripts.figures.cells import PEOPLE, Column, best
from scripts.figures.kept import Measured
from scripts.figures.outputs import FIGURES
from scripts.figures.reports import Row
from scripts.figures.shapes import by_provider, crossed, turned
from scripts.figures.tables import TABLES, busy, versions
from tests.docs import DOCS, anchor, without_code

ROOT = DOCS.parent
BENCH = ROOT / "scala/bench/src/main/scala/io/bucketstate/bench"

PAGES = ["what-it-costs.md", "which-setting.md"]

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_LINK = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
_TABLE = re.compile(r"(?:^\|[^\n]*\n)+", re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_SETTING = re.compile(r"`([a-z]\w*(?:\.\w+)+|engine|numBuckets)`")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: the head and the rows."""
    for table in _TABLE.findall(text):
        head, _, *rows = [cells(line) for line in table.splitlines()]
        yield [head, *rows]


def section(page: Path, name: str) -> str:
    """The section with this anchor, and those below it."""
    text = without_code(page.read_text(encoding="utf-8"))
    found = [(m.start(), len(m[1]), anchor(m[2])) for m in _HEADING.finditer(text)]
    ((start, depth),) = [(start, depth) for start, depth, is_ in found if is_ == name]
    ends = [at for at, level, _ in found if at > start and level <= depth]
    return text[start : ends[0] if ends else None]


def repeated(text: str) -> Iterator[tuple[Path, str, list[str]]]:
    """The figures of each row that says where they are from: file, heading, numbers."""
    for (*_, last), *rows in tables(text):
        source = None
        for _, *values, named in rows if last == "from" else []:
            source = _LINK.search(named) or source
            assert source, f"No source: {named}"
            assert _LINK.search(named) or named == "the same", named
            yield DOCS / source[1], source[2], _NUMBER.findall(" ".join(values))


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_in_the_section_that_it_is_from(page: str) -> None:
    """If not: the measurement was made anew, and this page has to follow it."""
    found = list(repeated((DOCS / page).read_text(encoding="utf-8")))
    assert found
    missing = [
        f"{number} is not in {source.name}#{name}"
        for source, name, numbers in found
        for number in numbers
        if number not in _NUMBER.findall(section(source, name))
    ]
    assert missing == []


def test_every_setting_of_the_page_is_one() -> None:
    text = (DOCS / "which-setting.md").read_text(encoding="utf-8")
    named = {name for name in _SETTING.findall(text) if not name.startswith(("spark.", "stateful"))}
    known = {setting.name for setting in registry().settings}
    assert {"engine", "memory.maxBytes", "timeBucket.expireAfter"} <= named
    assert named - known - {"window.end"} == set()


@pytest.mark.parametrize(
    ("cells_", "made"),
    [
        ("5 | 3 | -", "5 | **3** | -"),
        ("3 | 3 | 5", "**3** | **3** | 5"),
        ("3 | 3 | -", "3 | 3 | -"),
        ("3 | - | -", "3 | - | -"),
        ("- | -", "- | -"),
        ("1,000 | 999.5", "1,000 | **999.5**"),
        ("10 and 90 | 9 and 80", "10 and 90 | **9 and 80**"),
        ("10 and 90 | 9 and 95", "10 and 90 | 9 and 95"),
        ("10 and 90 | 9", "10 and 90 | 9"),
    ],
)
def test_the_best_of_what_is_held_against_each_other_is_in_bold(cells_: str, made: str) -> None:
    assert " | ".join(best(cells_.split(" | "))) == made


def test_more_may_be_better() -> None:
    assert best(["900", "1,000", "-"], more_is_better=True) == ["900", "**1,000**", "-"]


def of_two(ours: float, theirs: float) -> Measured:
    """At two sizes of the state; at the second one it is the other way round."""
    rows: list[Row] = [{"keys": 1000, "provider": "hashmap", "ms": 0.0}]
    for keys, pair in ((1000, (ours, theirs)), (2000, (theirs, ours))):
        for provider, ms in zip(("bucketed", "rocksdb"), pair, strict=True):
            rows.append({"keys": keys, "provider": provider, "ms": ms})
    return Measured("1a2b3c4d", "2026-01-02", None, rows)


def test_a_loss_is_not_in_bold_and_no_name_is() -> None:
    figures = {"one": of_two(3.0, 2.0), "other": of_two(2.0, 3.0)}
    columns = [Column("ms", "ms")]
    theirs = PEOPLE["rocksdb"]
    made = by_provider(figures, "one", columns, by_keys=True).splitlines()[2:]
    assert made == [
        f"| 1 k | {PEOPLE['hashmap']} | 0.0 |",
        "| 1 k | bucketstate | 3.0 |",
        f"| 1 k | {theirs} | **2.0** |",
        "| 2 k | bucketstate | **2.0** |",
        f"| 2 k | {theirs} | 3.0 |",
    ]
    one = {"one": replace(figures["one"], rows=figures["one"].rows[:3])}
    assert turned(one, "one", columns).splitlines()[2] == "| ms | 0.0 | 3.0 | **2.0** |"
    cases, providers = {"one": "a", "other": "b"}, {"rocksdb": theirs, "bucketed": "ours"}
    crossed_ = crossed(figures, cases, providers, columns)
    assert crossed_.splitlines()[2] == "| ms | **2.0** | 3.0 | 3.0 | **2.0** |"


@pytest.mark.parametrize("name", ["partitions", "end-to-end", "join"])
def test_in_what_was_measured_the_least_is_in_bold(name: str) -> None:
    """Memory and first batches, which others have less of, among it."""
    ((_, *rows),) = tables(TABLES[name](kept.read(ROOT / FIGURES)))
    for what, *values in rows:
        numbers = {value: float(value.strip("*").replace(",", "")) for value in values}
        least = min(numbers.values())
        assert {v for v in values if v.startswith("**")} == {
            v for v, number in numbers.items() if number == least
        }, what


def test_a_report_that_was_made_beside_others_work_is_told() -> None:
    calm = {n: replace(m, others=0.03) for n, m in kept.read(ROOT / FIGURES).items()}
    assert busy(calm) is None
    assert "upper limits" not in "".join([versions(calm), TABLES["readme"](calm)])
    beside = {**calm, "providers": replace(calm["providers"], others=0.118)}
    said = busy(beside)
    assert said is not None
    assert said.endswith("so that their times are upper limits: `providers`.")
    assert f"**{said}**" in versions(beside)
    told = "others' CPU at most 12 %: times are upper limits."
    assert TABLES["batches"](beside).endswith(told)
    assert "12 % (`providers`): times are upper limits." in TABLES["readme"](beside)
    assert "upper limits" not in TABLES["long-run"](beside)


def test_what_is_written_for_an_update_is_said_with_how_often_stores_are_maintained() -> None:
    options = (BENCH / "BenchOptions.scala").read_text(encoding="utf-8")
    assert re.findall(r"maintenanceEvery: Int = (\d+)", options) == ["10"]
    said = "maintained every ten batches"
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        rows = [line for line in text.splitlines() if line.startswith("| bytes written per update")]
        assert rows
        assert all(said in row for row in rows), page
        assert "write fewer bytes" in " ".join(text.split()), page
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| bytes written per update, snapshots included, back to back |" in text
    assert f"Back to back, stores are {said}" in text


def test_requests_are_said_with_how_often_stores_are_maintained() -> None:
    query = ROOT / "scala/s3/src/test/scala/io/bucketstate/s3/CountedQuery.scala"
    (setting,) = re.findall(r'"(\S+maintenanceInterval)" -> "(\w+)"', query.read_text("utf-8"))
    page = (DOCS / "object-stores.md").read_text(encoding="utf-8")
    assert f"`{'='.join(setting)}`" in page


def test_the_conditions_of_restarts_are_those_of_the_benchmark() -> None:
    source = (BENCH / "RestartCondition.scala").read_text(encoding="utf-8")
    names = re.findall(r'extends RestartCondition\("(\w+)"', source)
    options = (BENCH / "BenchOptions.scala").read_text(encoding="utf-8")
    assert "jvms: Seq[RestartCondition] = RestartCondition.all," in options
    text = section(DOCS / "measurements.md", anchor("Restarts in a cold JVM"))
    assert f"without it the report has all {['', '', 'two', 'three'][len(names)]}" in text
    assert f"(`{','.join(names)}`)" in text
