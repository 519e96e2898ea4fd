"""Values that only Spark can show: they are sound, so `verify` counts them and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import CalendarIntervalType, StructType

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import CheckpointError, DamagedFileError
from tests.kit.checkpoints import KEY, PUT, VALUE, Built, schema_file
from tests.kit.rows import compact_row

if TYPE_CHECKING:
    from pathlib import Path

INTERVALS = StructType().add("i", CalendarIntervalType())
TOO_LONG = (1, 2, 2**63 - 1)


def only_counted(root: Path, keys: int, because: str) -> None:
    """It cannot be read, but nothing is wrong with it."""
    with pytest.raises(CheckpointError, match=r"without Spark: use .*statestore") as raised:
        Checkpoint(root).scan().to_arrow()
    assert because in str(raised.value)
    assert not isinstance(raised.value, DamagedFileError)
    report = Checkpoint(root).verify()
    assert report.ok
    assert [(r.keys, r.failure) for r in report.restarts] == [(keys, None)]
    (note,) = report.findings
    assert note.severity == "note"
    assert "were counted, but not all of them looked at" in note.what
    assert because in note.what


def test_values_that_arrow_has_not(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1, value=INTERVALS)
    built.batch({("a",): (TOO_LONG,), ("b",): ((1, 2, 3),)})
    only_counted(tmp_path, 2, "an interval of more nanoseconds than Arrow can hold")


def test_a_type_that_this_reader_does_not_know(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1)
    built.batch({("a",): (1, 1), ("b",): (2, 2)})

    class Places:
        def json(self) -> str:
            return str(VALUE.json()).replace('"long"', '"geometry(4326)"')

    path = built.folder() / "_metadata/schema"
    path.write_bytes(schema_file(KEY, Places()))  # type: ignore[arg-type]
    only_counted(tmp_path, 2, "a field of type geometry(4326)")


def test_damage_beside_them_is_damage(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1, value=INTERVALS)
    built.batch({("a",): (TOO_LONG,)})
    shorter = b"\x01\x00\x01x"
    built.write_changelog(1, 0, [(PUT, compact_row(KEY, ("a",)), shorter)], 1)
    report = Checkpoint(tmp_path).verify()
    assert not report.ok
    assert "does not have the layout of the schema" in str(report.restarts[0].failure)
