"""Files of events: one for each batch, in order, made once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bucketstate_nexmark.events.files import Amount, folder_name, offer, offer_closing, write
from bucketstate_nexmark.events.generator import events
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.events.schema import EVENT

MODEL = Model(rate=1000)
AMOUNT = Amount(events=2500, per_batch=1000)


def test_a_file_has_the_events_of_a_batch(tmp_path: Path) -> None:
    told: list[int] = []
    files = write(tmp_path, MODEL, AMOUNT, told.append)
    assert told == [0, 1, 2]
    read = pa.concat_tables(pq.read_table(file, schema=EVENT) for file in files.batches)
    assert read.equals(events(MODEL, 0, 2500))
    assert [pq.read_metadata(file).num_rows for file in files.batches] == [1000, 1000, 500]
    assert pq.read_metadata(files.closing).num_rows == 3


def test_files_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    files = write(tmp_path / "made", MODEL, AMOUNT)
    source = tmp_path / "source"
    offer(files, source, range(2))
    assert len([*source.iterdir()]) == 2
    offer(files, source, range(1, 3))
    offer_closing(files, source)
    by_time = sorted(source.iterdir(), key=lambda file: file.stat().st_mtime)
    assert [pq.read_metadata(file).num_rows for file in by_time] == [1000, 1000, 500, 3]


def test_files_are_made_once(tmp_path: Path) -> None:
    told: list[int] = []
    first = write(tmp_path, MODEL, AMOUNT)
    assert write(tmp_path, MODEL, AMOUNT, told.append) == first
    assert not told
    (tmp_path / "made.json").unlink()
    write(tmp_path, MODEL, AMOUNT, told.append)
    assert told, "a folder that was not finished is made again"


def test_other_events_have_another_folder() -> None:
    names = {folder_name(Model(seed=seed), AMOUNT) for seed in (1, 2)}
    assert len(names | {folder_name(Model(seed=1), Amount(2500, 500))}) == 3


def test_a_portion_is_of_whole_batches_and_not_too_few() -> None:
    whole = Amount(10_500, 1000)
    assert whole.batches == 11
    assert whole.portion(1, 4) == whole
    assert whole.portion(0.5, 4) == Amount(6000, 1000)
    assert whole.portion(0.01, 4) == Amount(4000, 1000)
    assert Amount(2500, 1000).portion(0.01, 4) == Amount(2500, 1000)
