"""The golden cases of what a reader concludes of a store's folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bucketstate.checkpoint import Plan, Store
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.decoding import RecordDecoder
from bucketstate.checkpoint.store.state import read_state
from bucketstate.errors import DamagedFileError, MissingFileError, NewerFormatError
from tests.kit.plans import CASES, GOLDEN, plant
from tests.kit.planted import KEY, VALUE
from tests.kit.values.own_types import family_schema

ERRORS: dict[str, tuple[type[Exception], str]] = {
    "missing": (MissingFileError, ""),
    "damaged": (DamagedFileError, ""),
    "other-history": (DamagedFileError, "of another history"),
    "newer-format": (NewerFormatError, ""),
}
"""Each kind of error with what its message says."""

FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/expected.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_concluded(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    store = Store(0, 0, "default", Folder.at(folder / "store"))
    target = Attempt(expected["version"], expected.get("checkpointId"))
    if "error" in expected:
        error, says = ERRORS[expected["error"]]
        with pytest.raises(error, match=re.escape(expected["file"])) as raised:
            rows(store, store.plan(target))
        assert says in str(raised.value)
        return
    plan = store.plan(target)
    found = {
        "base": plan.base.version if plan.base else 0,
        "changelogs": [str(c.name) for c in plan.changelogs],
        "passed": [{"manifest": str(p.manifest), "reason": p.reason} for p in plan.skipped],
        "replaced": [r.version for r in plan.replaced],
        "rows": rows(store, plan),
    }
    assert found == {member: expected[member] for member in found}


def rows(store: Store, plan: Plan) -> list[list[Any]]:
    """The state in the words of `expected.json`."""
    family = plan.family("default")
    decoder = RecordDecoder(family, family_schema(KEY, VALUE), store.folder.location)
    found = []
    for part in read_state(store, plan, family):
        keys, values = decoder.keys(part.keys).to_pylist(), decoder.values(part.values).to_pylist()
        for key, value in zip(keys, values, strict=True):
            found.append([key["k1"], key["k2"], value["v1"], value["v2"].hex()])
    return sorted(found)


def test_every_case_is_there() -> None:
    """If not: `python -m tests.kit.plans`."""
    assert {folder.name for folder in FOLDERS} == set(CASES)


def files_below(folder: Path) -> set[Path]:
    """Without folders: git keeps none that are empty."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_is_what_the_case_says(tmp_path: Path, name: str) -> None:
    plant(name, tmp_path)
    made = files_below(tmp_path)
    assert made == files_below(GOLDEN / name)
    # RocksDB's files have a time in them, and manifests the checksums of those.
    for path in (p for p in made if p.suffix in (".json", ".changelog")):
        assert (tmp_path / path).read_bytes() == (GOLDEN / name / path).read_bytes()
