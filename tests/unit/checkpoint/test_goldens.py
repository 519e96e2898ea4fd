"""The golden files of format 1, read as the provider's own tests read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bucketstate.checkpoint.format.changelog import read_changelog
from bucketstate.checkpoint.format.manifest_json import read_manifest
from bucketstate.checkpoint.format.names import ChangelogName, ManifestName, parse
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.runs import run_key
from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.state import read_changes
from bucketstate.checkpoint.store.store import Store

pytestmark = pytest.mark.usefixtures("each_reader")

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "v1"
OWN_WRITER = GOLDEN / "own-writer"
"""The runs of GOLDEN, which RocksDB's library wrote, as the provider's own writer makes them."""
PARTS = GOLDEN / "parts"
"""A run of one file, which that writer made with index and filter in parts."""
CHANGELOG = "7_3e0c8f1a-5b7d-4c2e-9a64-d1f2b3c4e5a6.changelog"
MANIFEST = "9_5c2d8a10-7f3b-4e6a-8d19-c4b5a6978812.manifest"


def told(name: str, folder: Path = GOLDEN) -> list[list[str]]:
    """The lines of the text beside a golden file."""
    return [line.split(" ") for line in (folder / f"{name}.txt").read_text().splitlines()]


def shown(data: bytes) -> str:
    return data.hex() or "-"


def test_the_changelog() -> None:
    name = parse(CHANGELOG)
    assert isinstance(name, ChangelogName)
    changelog = read_changelog(Folder.at(GOLDEN), name)
    found = []
    for family in changelog.families:
        records = Records.concat(list(read_changes(changelog, family)))
        for key, value, put, merge in zip(
            records.keys.to_list(),
            records.values.to_list(),
            records.puts.tolist(),
            records.merges.tolist(),
            strict=True,
        ):
            change = "merge" if merge else "put" if put else "remove"
            found.append([str(family.id), change, shown(key), shown(value)])
    assert sorted(found) == sorted(told(CHANGELOG))


@pytest.mark.parametrize("folder", [GOLDEN, OWN_WRITER], ids=lambda folder: folder.name)
def test_the_state_that_the_manifest_says(folder: Path) -> None:
    name = parse(MANIFEST)
    assert isinstance(name, ManifestName)
    store = Store(0, 3, "default", Folder.at(folder))
    plan = Plan(name.attempt, read_manifest(store.folder, name), ())
    assert plan.base is not None
    assert plan.base.store_id == "state/0/3"
    # The golden keys lie in buckets of their own choosing: read bucket by bucket, as the runs do.
    from bucketstate.checkpoint.format.runs import Runs
    from bucketstate.checkpoint.store.state import read_span

    found = []
    with Runs(store.folder) as runs:
        for family in plan.families:
            for bucket in range(plan.num_buckets):
                records = read_span(plan, family, runs, bucket, bucket)
                for key, value in zip(
                    records.keys.to_list(), records.values.to_list(), strict=True
                ):
                    found.append([str(family.id), str(bucket), shown(key), shown(value)])
        for file in plan.base.files:
            runs.verify(file)
    assert sorted(found) == sorted(told(MANIFEST, folder))


def test_a_file_in_parts() -> None:
    store = Store(0, 0, "default", Folder.at(PARTS))
    name = parse("1.manifest")
    assert isinstance(name, ManifestName)
    plan = Plan(name.attempt, read_manifest(store.folder, name), ())
    from bucketstate.checkpoint.format.runs import Runs
    from bucketstate.checkpoint.store.state import read_span

    with Runs(store.folder) as runs:
        for bucket in range(plan.num_buckets):
            records = read_span(plan, plan.families[0], runs, bucket, bucket)
            numbers = range(750 * bucket, 750 * (bucket + 1))
            assert records.keys.to_list() == [f"key-{n:05}".encode() for n in numbers]
            assert records.values.to_list() == [f"value of {n}".encode() for n in numbers]


def test_a_key_of_a_file_in_parts() -> None:
    (path,) = PARTS.glob("runs/*.sst")
    with Folder.at(PARTS).opened(f"runs/{path.name}") as file:
        reader = SstReader(file, str(path))
        for n in range(0, 3000, 13):
            key = run_key(0, n // 750, f"key-{n:05}".encode())
            found = list(reader.entries(key, key + b"\0"))
            assert found == [(key, b"\x01" + f"value of {n}".encode())]
            assert list(reader.entries(key + b"\0", key + b"\1")) == []
