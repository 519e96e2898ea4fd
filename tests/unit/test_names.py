"""A value's name says what it is, as the glossary of docs/architecture.md has it.

`now` is a time. `of` and `in` are names of functions; a stream that is read may be `in`, as one
that is written is `out`. What was told last is `reported`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("scala/**/src/main"))

# Comments and strings say what they like.
_NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|""".*?"""|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_NAME = r"(?P<name>now|told|of|in)"
_NAMING = (
    # a value, or a function that takes nothing; with its type, or else what it is
    re.compile(rf"\b(?:val|var|def) {_NAME}(?:\(\))?(?P<rest>: [^=\n]*| =\s*[^\n]*)"),
    # a parameter, or a pattern with a type
    re.compile(rf"(?:^ *|[(,] ?){_NAME}(?P<rest>: [^,\n]*)", re.MULTILINE),
    # one of several values
    re.compile(rf"\bval \((?P<rest>[^)=\n]*\b){_NAME}\b"),
    # what a function or a case is handed, or one of it; the line tells what that is
    re.compile(rf"^(?P<rest>.*\b)(?<![.$]){_NAME}(?:\)|,[^()\n]*\))? =>", re.MULTILINE),
    re.compile(rf"^(?P<rest>.*\b)(?<![.$]){_NAME} <-", re.MULTILINE),
)
_ALLOWED = {
    "now": re.compile(r": (?:Long|Instant|\(\) => Long)|nanos|instant\(|[tT]ime"),
    "in": re.compile(r"Stream\b|Reader\b|\binput\("),
}


def complaints(code: str) -> Iterator[tuple[int, str]]:
    """Lines and names of values that are called what they are not."""
    bare = _NO_CODE.sub(lambda m: ("" if m[0][0] == "/" else '""') + "\n" * m[0].count("\n"), code)
    for naming in _NAMING:
        for match in naming.finditer(bare):
            allowed = _ALLOWED.get(match["name"])
            if allowed is None or not allowed.search(match["rest"]):
                yield bare.count("\n", 0, match.start("name")) + 1, match["name"]


def test_every_value_is_called_what_it_is() -> None:
    """If not: say what the value is, as `current`, `reported`, `folder` or `position`."""
    files = [path for source in SOURCES for path in sorted(source.rglob("*.scala"))]
    assert len(files) > 300
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files
        for line, name in complaints(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "code",
    [
        "def share(now: Situation): Double = 1",
        "val now = counts(3)",
        "def now: Int = count",
        "case (now: Holding, next) => next",
        "private[this] var told = 0L",
        "final class Replayed(base: Point, of: Point)",
        "  def make(\n      in: Path,\n      id: Long\n  ) = 1",
        "each.map { of => 1 }",
        "each.map { case (bytes, of) => bytes }",
        'file.optional("sum")((of, _) => of)',
        "for { now <- counts } yield 1",
        "val (now, own) = captured",
    ],
)
def test_a_value_that_is_called_something_else_is_found(code: str) -> None:
    assert len(list(complaints(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "def isDue(latest: Long, now: Instant): Boolean = true",
        "private[this] val now = ticker.nanos",
        "class Keeper(\n    now: () => Long,\n    all: Int\n)",
        "def read(in: InputStream): Int = 1",
        "Using.resource(new FileInputStream(path)) { in =>",
        "def of(found: Int): Run = new Run(found)",
        "def at(version: Long): Int = run.of(version)",
        'log.info(s"so it is now: $all", of(1))  // told: nothing',
        "/** Of a family, now: 3. */",
    ],
)
def test_times_streams_and_functions_keep_their_names(code: str) -> None:
    assert list(complaints(code)) == []
