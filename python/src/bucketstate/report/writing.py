"""Reads a checkpoint, and writes the page about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bucketstate.checkpoint import Checkpoint
from bucketstate.doctor import read_progress
from bucketstate.errors import BucketstateError
from bucketstate.optional import needed
from bucketstate.report.material import Advance, gathered
from bucketstate.report.page import page_of
from bucketstate.report.rendering import html_of


@dataclass(frozen=True)
class Written:
    """A page that was written. Immutable.

    Attributes:
        output: the file.
        bytes: its length.
        ok: whether all that was read of the checkpoint is sound: all files, or without `state` what
            a restart opens.
    """

    output: Path
    bytes: int
    ok: bool


def write_report(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    output: str | os.PathLike[str],
    *,
    progress: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
    state: bool = True,
    advance: Advance | None = None,
) -> Written:
    """Writes one HTML page about a checkpoint, which is readable without a network.

        write_report("checkpoint", "report.html", progress="progress.parquet")

    A checkpoint that is damaged gets a page that names the damage.

    Args:
        checkpoint: what the query was given as `checkpointLocation`, or that as a `Checkpoint`.
        output: the file, which is replaced if it is there.
        progress: what the query reported: a file that `Recorder.save` wrote, JSON by lines or an
            event log of Spark's; or the progresses themselves, such as `Recorder.progress`, as
            Spark's JSON has them. Those of other queries are left out.
        state: verify every file and count the keys of every bucket, which reads the state; without,
            the indexes of the files are read, and the page says what it lacks.
        advance: is told how many files of how many are verified.

    Returns:
        The file, and whether the checkpoint is sound.

    Raises what `Checkpoint` and `doctor.read_progress` raise, MissingLibraryError without plotly,
    and BucketstateError for a file that cannot be written.

    Safe from any thread, with a checkpoint of its own.
    """
    needed("plotly.graph_objects", extra="report", what="A report")
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    found = gathered(
        checkpoint, _progress(progress), state=state, now=datetime.now(UTC), advance=advance
    )
    data = html_of(page_of(found)).encode()
    target = Path(output)
    try:
        target.write_bytes(data)
    except OSError as error:
        raise BucketstateError(
            f"{target} cannot be written: {error}. Give a file in a folder that is there."
        ) from error
    return Written(target, len(data), found.sound)


def _progress(
    given: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None,
) -> Sequence[dict[str, Any]] | None:
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return [dict(progress) for progress in read_progress(Path(given))]
    return [dict(progress) for progress in given]
