"""A changelog that takes more memory than anything may: that of the first batch, of many keys."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql.types import StringType, StructType

from bucketstate.checkpoint import Checkpoint
from tests.kit.checkpoints import KEY, PUT, Built
from tests.kit.rows import compact_row
from tests.kit.storage.far_files import FarFiles

pytestmark = pytest.mark.slow

KEYS = 800
VALUE_BYTES = 65_536


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One version, whose changelog has a block for each of a hundred buckets."""
    root = tmp_path_factory.mktemp("large")
    value = StructType().add("text", StringType())
    built = Built(root, partitions=1, buckets=100, value=value)
    built.plan_batch(0)
    row = compact_row(value, ("x" * VALUE_BYTES,))
    records = [(PUT, compact_row(KEY, (f"k{n}",)), row) for n in range(KEYS)]
    path = built.write_changelog(1, 0, records, KEYS, codec="none", buckets_per_block=1)
    assert path.stat().st_size > KEYS * VALUE_BYTES
    built.commit_batch(0)
    return root


@contextmanager
def within(memory: int) -> Iterator[None]:
    """What is in here holds no more bytes than that at any time, besides those of Arrow."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()


def test_changes_are_read_in_pieces(large: Path) -> None:
    far = FarFiles()
    checkpoint = Checkpoint(str(large), far.arrow())
    with within(64 << 20):
        found = sum(b.num_rows for b in checkpoint.scan("changes").to_arrow_batch_reader())
    assert found == KEYS
    assert far.largest_read <= 8 << 20


def test_it_is_verified_in_pieces(large: Path) -> None:
    far = FarFiles()
    checkpoint = Checkpoint(str(large), far.arrow())
    with within(64 << 20):
        report = checkpoint.verify()
    assert report.findings == ()
    assert [restart.keys for restart in report.restarts] == [KEYS]
    assert far.largest_read <= 8 << 20
