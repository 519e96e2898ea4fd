"""What Spark's offline repartition leaves, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.move import clone, rewind
from tests.kit.checkpoints import Built, log
from tests.unit.checkpoint.test_state import grown

KEY = "spark.sql.shuffle.partitions"


def recorded(built: Built, batch: int, partitions: int, at: int) -> None:
    """A batch's offsets as Spark writes them, of a moment of its own."""
    path = built.root / "offsets" / str(batch)
    built.plan_batch(batch)
    found = json.loads(path.read_text().splitlines()[1])
    found["conf"][KEY] = str(partitions)
    log(path, 1, found | {"batchTimestampMs": at})
    with path.open("a") as file:
        file.write("\n0")


@pytest.fixture
def sound(tmp_path: Path) -> Built:
    """Six batches, all of them committed."""
    built = grown(tmp_path / "checkpoint")
    for batch in range(built.version):
        recorded(built, batch, 2, 1000 + batch)
    return built


def repartitioned(built: Built, partitions: int = 4, skipped: Sequence[int] = ()) -> list[str]:
    """Begins one of the state before the skipped batches; the files to remove."""
    batch = skipped[-1] + 1 if skipped else built.version
    copied = (skipped[0] if skipped else batch) - 1
    for number in skipped:
        log(built.root / "commits" / str(number), 1, {"nextBatchWatermarkMs": 0})
    recorded(built, batch, partitions, 1000 + copied)
    names = [f"commits/{n}" for n in reversed(skipped)]
    return [str(built.root / name) for name in [*names, f"offsets/{batch}"]]


def failed(built: Built, batch: int) -> None:
    """A batch that was planned and did not come to its end."""
    recorded(built, batch, 2, 1000 + batch)


def healed(built: Built) -> None:
    begun = Checkpoint(built.root).query.repartition
    assert begun is not None
    for path in begun.files:
        Path(path).unlink()


def test_it_is_named_with_the_file_to_remove(
    sound: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Checkpoint(sound.root)
    was = before.overview()
    (file,) = repartitioned(sound)
    checkpoint = Checkpoint(sound.root)

    found = checkpoint.overview()
    assert found.unfinished is not None
    assert "to 4 partitions" in found.unfinished
    assert file in found.unfinished
    # All else is told as it is without it.
    assert (found.version, found.last_batch, found.operators) == (
        was.version,
        was.last_batch,
        was.operators,
    )

    report = checkpoint.verify()
    assert [(f.severity, f.path) for f in report.findings] == [("error", file)]
    assert not report.ok
    assert [r.failure for r in report.restarts] == [None, None]

    (advice,) = of_checkpoint(found).advice
    assert file in advice.what

    for command, code in (("inspect", 3), ("verify", 3), ("doctor", 0)):
        for more in ([], ["--json"]):
            assert main([command, str(sound.root), *more]) == code
            assert file in capsys.readouterr().out
    assert main(["doctor", str(sound.root), "--exit-code"]) == 3

    assert Path(file).exists()
    healed(sound)
    assert Checkpoint(sound.root).verify().ok
    assert Checkpoint(sound.root).overview() == was


def test_batches_that_it_skipped_are_named_too(sound: Built) -> None:
    last = sound.version - 1
    failed(sound, last + 1)
    was = Checkpoint(sound.root).overview()
    files = repartitioned(sound, skipped=[last + 1])
    checkpoint = Checkpoint(sound.root)
    assert checkpoint.query.repartition is not None
    assert list(checkpoint.query.repartition.files) == files
    assert checkpoint.restart_version == last + 1 == was.version
    assert checkpoint.last_batch == last
    assert [f.severity for f in checkpoint.verify().findings] == ["error"]
    healed(sound)
    assert Checkpoint(sound.root).overview() == was


def test_checksums_of_hadoops_local_file_system_go_with_their_files(sound: Built) -> None:
    (file,) = repartitioned(sound)
    checksum = Path(file).with_name(f".{Path(file).name}.crc")
    checksum.write_bytes(b"crc")
    begun = Checkpoint(sound.root).query.repartition
    assert begun is not None
    assert begun.files == (str(checksum), file)


def test_other_planned_batches_are_none(sound: Built) -> None:
    failed(sound, sound.version)
    checkpoint = Checkpoint(sound.root)
    assert checkpoint.query.repartition is None
    assert checkpoint.overview().planned_batch == sound.version
    assert checkpoint.verify().ok


def test_a_finished_one_is_none(sound: Built) -> None:
    """Which only another provider's can be; its number of partitions stays."""
    last = sound.version - 1
    recorded(sound, last, 4, 999)
    assert Checkpoint(sound.root).query.repartition is None
    recorded(sound, sound.version, 4, 1999)
    assert Checkpoint(sound.root).query.repartition is None


def test_a_log_that_cannot_be_read_is_told_by_verify(sound: Built) -> None:
    repartitioned(sound)
    (sound.root / "offsets" / str(sound.version - 1)).write_text("nonsense")
    checkpoint = Checkpoint(sound.root)
    assert checkpoint.query.repartition is None
    assert "nonsense" in " ".join(f.what for f in checkpoint.verify().findings)


@pytest.mark.parametrize("skipped", [(), (6,)])
def test_a_clone_is_without_it_and_a_rewind_takes_it_away(
    sound: Built, tmp_path: Path, skipped: Sequence[int]
) -> None:
    for batch in skipped:
        failed(sound, batch)
    repartitioned(sound, skipped=skipped)
    report = clone(sound.root, tmp_path / "clone")
    assert (report.batch, report.planned_batch) == (5, skipped[0] if skipped else None)
    assert Checkpoint(tmp_path / "clone").query.repartition is None
    assert Checkpoint(tmp_path / "clone").verify().ok
    assert rewind(sound.root, 5).dropped == ((6, 7) if skipped else (6,))
    checkpoint = Checkpoint(sound.root)
    assert checkpoint.query.repartition is None
    assert checkpoint.verify().ok
    assert checkpoint.restart_version == 6
