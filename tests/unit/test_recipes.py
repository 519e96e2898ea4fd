"""What CONTRIBUTING.md names is there: recipes rot, since nobody runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from scripts import nightly
from tests.docs import section

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAIN = sorted((ROOT / "scala/src/main").glob("*/io/bucketstate"))
TESTS = {file.stem for file in (ROOT / "scala/src/test").rglob("*.scala")}
RECIPES = ("A setting or a metric", "What a new one of these touches")


def rows(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith("| "))


def spelled(word: str) -> Iterator[str]:
    """Each path of `a/{b, c}.py`."""
    parts = re.split(r"\{([^}]*)\}", word)
    choices = [re.split(r", *", p) if n % 2 else [p] for n, p in enumerate(parts)]
    return ("".join(chosen) for chosen in product(*choices))


def named_paths() -> list[str]:
    """The paths in the tables of the recipes, and those of folders and files in their words."""
    words = [
        w
        for title in RECIPES
        for row in rows(section(PAGE, title))
        for w in re.findall(r"`([^`]+)`", row)
    ]
    return [path for word in words if "/" in word for path in spelled(word)]


def is_there(path: str) -> bool:
    """As a path of the project, or below the package in Scala, where a member may stand behind."""
    below = [root / name for root in MAIN for name in (path, f"{path}.scala")]
    below += [root / f"{path.rpartition('.')[0]}.scala" for root in MAIN]
    return (ROOT / path).exists() or any(file.exists() for file in below)


def test_what_is_looked_for_is_found() -> None:
    assert len(named_paths()) > 40
    assert is_there("config/ConfigKey.Engine")
    assert not is_there("config/NoSuchKey")


@pytest.mark.parametrize("path", sorted({*named_paths()}))
def test_a_path_of_a_recipe_is_there(path: str) -> None:
    assert is_there(path)


def test_the_suites_of_recipes_are_there() -> None:
    named = {
        s
        for title in RECIPES
        for s in re.findall(r"`(\w+(?:Suite|Contract))`", section(PAGE, title))
    }
    assert len(named) > 5
    assert named - TESTS == set()


def test_the_night_s_steps_are_those_that_run() -> None:
    (row,) = [line for line in rows(PAGE) if line.startswith("| `make nightly` |")]
    listed = re.findall(r"`([^`]+)`", row.partition(", one after the other")[0])[1:]
    assert listed == list(nightly.STEPS)
