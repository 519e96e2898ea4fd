"""Reads a checkpoint, and writes the page about it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.writing import whole_file
from bucketstate.doctor import read_progress
from bucketstate.errors import BucketstateError, InvalidArgumentError
from bucketstate.optional import needed
from bucketstate.progress import Progress, Recorder
from bucketstate.progress.rows import batch_row
from bucketstate.report.material import Advance, gathered
from bucketstate.report.page import page_of
from bucketstate.report.rendering import html_of

_log = logging.getLogger("bucketstate.report")

Given = str | os.PathLike[str] | Recorder | Iterable[Any] | None
"""What a query reported."""

_NEEDED = {"id", "runId", "batchId", "timestamp", "durationMs"}
_GIVE = (
    "give a file, a Recorder, or progresses of a query such as query.recentProgress, as Spark has "
    "them or as its JSON."
)


@dataclass(frozen=True)
class Written:
    """A page that was written. Immutable."""

    output: Path
    """The file."""
    bytes: int
    """Its length."""
    ok: bool
    """Whether all that was read of the checkpoint is sound: every file, or without `state` what a
    restart opens."""


def write_report(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    output: str | os.PathLike[str],
    *,
    progress: Given = None,
    state: bool = True,
    advance: Advance | None = None,
) -> Written:
    """Writes one HTML page about a checkpoint, which is readable without a network.

        write_report("checkpoint", "report.html", progress="progress.parquet")

    A checkpoint that is damaged gets a page that names the damage.

    Args:
        checkpoint: what the query was given as `checkpointLocation`, or that as a `Checkpoint`.
        output: the file; one that is there is replaced once the new one is whole.
        progress: what the query reported: a file that `Recorder.save` wrote, JSON by lines or an
            event log of Spark's; a `Recorder`; or the progresses themselves, such as
            `query.recentProgress`. Those of other queries are left out.
        state: verify every file and count the keys of every bucket, which reads the state; without,
            the indexes of the files are read, and the page says what it lacks.
        advance: is told how many files of how many are verified.

    Returns:
        The file, and whether the checkpoint is sound.

    Raises:
        BucketstateError: the file cannot be written.
        InvalidArgumentError: `progress` is no progress of a query, or an argument is of a wrong
            type.
        MissingLibraryError: plotly is not installed.
        CheckpointError: the checkpoint as a whole cannot be read, as for `Checkpoint.verify`.
        StorageError: the file system failed.

    Safe from any thread, with a checkpoint of its own.
    """
    if not isinstance(output, str | os.PathLike) or isinstance(os.fspath(output), bytes):
        raise InvalidArgumentError(f"output={output!r}: give the path of a file.")
    target = Path(output)
    # Before much is read for nothing.
    if not target.parent.is_dir():
        raise BucketstateError(
            f"{target} cannot be written: {target.parent} is no folder. Give a file in a folder "
            "that is there."
        )
    data, ok = page_about(checkpoint, progress=progress, state=state, advance=advance)
    try:
        with whole_file(target) as path:
            path.write_bytes(data)
    except OSError as error:
        raise BucketstateError(f"{target} cannot be written: {error}.") from error
    _log.info("wrote %s, %d bytes", target, len(data))
    return Written(target, len(data), ok)


def page_about(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    *,
    progress: Given = None,
    state: bool = True,
    advance: Advance | None = None,
) -> tuple[bytes, bool]:
    """The page that `write_report` writes, and whether all that was read is sound."""
    needed("plotly.graph_objects", extra="cli", what="A report")
    if advance is not None and not callable(advance):
        raise InvalidArgumentError(f"advance={advance!r}: give a function of two numbers.")
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    found = gathered(
        checkpoint, _progress(progress), state=state, now=datetime.now(UTC), advance=advance
    )
    return html_of(page_of(found)).encode(errors="backslashreplace"), found.sound


def _progress(given: Given) -> list[Progress] | None:
    """Progresses as Spark's JSON has them."""
    if given is None:
        return None
    if isinstance(given, Recorder):
        found = given.progress
    elif isinstance(given, str | os.PathLike):
        found = [dict(progress) for progress in read_progress(Path(given))]
    else:
        try:
            found = Recorder.of(given).progress
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"progress={given!r} cannot be read: {_GIVE}") from error
    for at, one in enumerate(found):
        if missing := _NEEDED - one.keys():
            names = ", ".join(sorted(missing))
            raise InvalidArgumentError(f"progress[{at}] is without {names}: {_GIVE}")
        try:
            # What a row is made of is all that charts and figures are made of.
            batch_row(one)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"progress[{at}] is none that Spark reported ({error}): {_GIVE}"
            ) from error
    return found
