"""One checkpoint, read on by every minor version of Spark in turn: `make test-sparks`."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.applications import ROOT, answer_of
from tests.kit.cases import ALL, cases

ROUTE = ("4.0", "4.1", "4.2", "4.3", "4.2", "4.1", "4.0") if ALL else ("4.0", "4.2", "4.3", "4.1")
"""By day each of them once, up and down; at night from each to its neighbours."""
FILES = 3
"""That are added before each step; each is a batch."""


def python_of(minor: str) -> str:
    """The interpreter of the environment that `make` set up for that Spark."""
    candidates = [ROOT / ".venv", ROOT / ".venvs" / minor]
    for environment in candidates:
        if list(environment.glob(f"lib/python3.*/site-packages/pyspark-{minor}.*.dist-info")):
            return str(environment / "bin" / "python")
    pytest.fail(f"There is no environment with pyspark {minor}: run `make .stamps/venv-{minor}`.")


class Model:
    """What the queries must say, by plain Python."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.unread: set[int] = set()
        """Keys that the query of rows has not told of: Spark 4.0 does not run it."""

    def expected(self, new: list[dict[str, Any]]) -> dict[str, Any]:
        """After the new events, which it remembers; of updates what they leave for each key."""
        old_ids = {e["id"] for e in self.events}
        old_pairs = self.pairs()
        self.events += new
        keys = {e["key"] for e in new}
        counts = Counter(e["key"] for e in self.events)
        self.unread |= keys
        ids = Counter[int]()
        for event in self.events:
            ids[event["key"]] += event["id"]
        return {
            "counts": {k: counts[k] for k in keys},
            "visits_in_pandas": {k: (counts[k], ids[k], counts[k]) for k in keys},
            "visits": {k: (counts[k], ids[k], counts[k]) for k in self.unread},
            "joined": sorted((self.pairs() - old_pairs).elements()),
            "seen": sorted({e["id"] for e in new} - old_ids),
            "stored": dict(counts),
        }

    def pairs(self) -> Counter[int]:
        met = Counter(e["other"] for e in self.events)
        ids = Counter(e["id"] for e in self.events)
        return Counter({i: n * met[i] for i, n in ids.items() if i in met})


def events(chance: random.Random) -> list[dict[str, Any]]:
    """With ids that come again, and others that are ids of before or of later."""
    return [
        {
            "id": chance.randrange(200),
            "key": chance.randrange(12),
            "other": chance.randrange(200),
            "at": f"2026-01-01T{chance.randrange(24):02}:00:00Z",
        }
        for _ in range(40)
    ]


@pytest.mark.timeout(1200)
def test_a_checkpoint_moves_from_one_spark_to_another_and_back(tmp_path: Path) -> None:
    chance = random.Random(15)
    model = Model()
    folder = tmp_path / "events"
    folder.mkdir()
    for step, minor in enumerate(ROUTE):
        new: list[dict[str, Any]] = []
        for number in range(FILES):
            rows = events(chance)
            text = "\n".join(json.dumps(row) for row in rows)
            (folder / f"{step}-{number}.json").write_text(text, encoding="utf-8")
            new += rows
        python = python_of(minor)
        answer = answer_of(
            [python, "-m", "tests.sparks.moving", str(tmp_path)],
            timeout=600,
            PYSPARK_PYTHON=python,
            PYSPARK_DRIVER_PYTHON=python,
        )
        assert answer["spark"].startswith(f"{minor}.")
        said = answer["said"]
        expected = model.expected(new)
        assert dict(said["counts"]) == expected["counts"]
        visits = ["visits_in_pandas"]
        if minor != "4.0":
            visits.append("visits")
            model.unread.clear()
        for name in visits:
            assert {key: tuple(rest) for key, *rest in said[name]} == expected[name]
        assert sorted(i for (i,) in said["joined"]) == expected["joined"]
        assert sorted(i for (i,) in said["seen"]) == expected["seen"]
        assert dict(answer["stored"]) == expected["stored"]
    manifests = list(tmp_path.glob("counts/state/0/*/*.manifest"))
    assert manifests, "no step left a snapshot for the next one"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("jar", "runs"),
    cases(
        [("4.0", "4.1"), ("4.3", "4.1"), ("4.2", "4.3")],
        [("4.2", "4.1"), ("4.1", "4.3"), ("4.1", "4.0"), ("4.0", "4.3"), ("4.3", "4.0")],
    ),
)
def test_a_jar_for_another_spark_says_so(jar: str, runs: str, tmp_path: Path) -> None:
    python = python_of(runs)
    answer = answer_of(
        [python, "-m", "tests.sparks.foreign_jar", jar, str(tmp_path / "checkpoint")],
        timeout=300,
        PYSPARK_PYTHON=python,
        PYSPARK_DRIVER_PYTHON=python,
    )
    assert f"This jar of bucketstate is for Spark {jar}, and Spark {runs}." in answer["error"]
    assert f"bucketstate-spark-{runs}_2.13" in answer["error"]
    (said,) = answer["plugin"]
    assert f"This jar of bucketstate is for Spark {jar}, and Spark {runs}." in said
