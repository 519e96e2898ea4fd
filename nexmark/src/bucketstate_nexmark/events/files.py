"""Events as parquet files, one for each batch, which a stream reads in the order of their times."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from bucketstate_nexmark.events.generator import closing, events

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from bucketstate_nexmark.events.model import Model

CLOSING = "closing.parquet"
_MADE = "made.json"


@dataclass(frozen=True)
class Amount:
    """How many events, and how many of them come with a batch. The last batch may have fewer."""

    events: int
    per_batch: int

    @property
    def batches(self) -> int:
        return -(-self.events // self.per_batch)

    def of_batch(self, batch: int) -> int:
        return min(self.per_batch, self.events - batch * self.per_batch)

    def portion(self, share: float, fewest: int) -> Amount:
        """The first batches of it: such a share of them, and not fewer than some."""
        batches = min(self.batches, max(fewest, round(self.batches * share)))
        return Amount(min(self.events, batches * self.per_batch), self.per_batch)


@dataclass(frozen=True)
class Files:
    """The files of an amount of events, and the closing ones."""

    batches: tuple[Path, ...]
    closing: Path


def write(
    folder: Path, of: Model, amount: Amount, told: Callable[[int], None] = lambda _: None
) -> Files:
    """The files in this folder, made now if they are not there; `told` of each that is done.

    A folder whose events are of another model or amount is an error of the caller's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(
        tuple(folder / f"{batch:06d}.parquet" for batch in range(amount.batches)),
        folder / CLOSING,
    )
    wanted = json.dumps({"model": asdict(of), "amount": asdict(amount)}, indent=2)
    made = folder / _MADE
    if made.exists() and made.read_text() == wanted:
        return files
    for batch, file in enumerate(files.batches):
        table = events(of, batch * amount.per_batch, amount.of_batch(batch))
        _write(table, file, batch)
        told(batch)
    _write(closing(of, amount.events), files.closing, amount.batches)
    # Written last: a folder without it is one that was not finished.
    made.write_text(wanted)
    return files


def folder_name(of: Model, amount: Amount) -> str:
    """A folder's name for just these events."""
    return f"{amount.events}-by-{amount.per_batch}-rate-{of.rate}-seed-{of.seed}"


def offer(files: Files, source: Path, batches: range) -> None:
    """Puts these batches, and behind the last of all the closing events, where a stream reads."""
    source.mkdir(parents=True, exist_ok=True)
    for batch in batches:
        _link(files.batches[batch], source / files.batches[batch].name)


def offer_closing(files: Files, source: Path) -> None:
    """Puts the closing events behind all that a stream reads."""
    _link(files.closing, source / f"z-{CLOSING}")


def _write(table: pa.Table, file: Path, place: int) -> None:
    pq.write_table(table, file, compression="zstd")
    # Spark reads files in the order of these, to the millisecond; small ones are made faster.
    os.utime(file, (place + 1, place + 1))


def _link(file: Path, link: Path) -> None:
    """A second name for a file, with its time: copied where the file system has no such names."""
    if link.exists():
        return
    try:
        os.link(file, link)
    except OSError:
        link.write_bytes(file.read_bytes())
        times = file.stat()
        os.utime(link, (times.st_atime, times.st_mtime))
