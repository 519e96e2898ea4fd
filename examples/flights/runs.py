"""What Spark reported of a query's batches, in both of its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from bucketstate.doctor import read_progress
from bucketstate.progress import PHASE, Recorder

if TYPE_CHECKING:
    from flights.layout import Layout


@dataclass(frozen=True)
class Run:
    """A query's batches in their order: rows of `Recorder.to_pandas`, by the process as `part`."""

    name: str
    batches: pd.DataFrame


def load(files: Layout, name: str) -> Run:
    frame = Recorder.of(read_progress(files.progress_of(name))).to_pandas()
    # A trigger that ran no batch reports the number of the next one, and no time of its own.
    batches = frame[frame[f"{PHASE}addBatch"].notna()]
    return Run(name, batches.assign(part=pd.factorize(batches["run_id"])[0] + 1))
