"""Whether what sources of files keep of their own has the batches that a restart asks it for."""

from __future__ import annotations

import json
import re

from bucketstate.checkpoint.spark.query import Query
from bucketstate.checkpoint.verify.report import Findings
from bucketstate.errors import CheckpointError, StorageError

_NONE = "-"
"""What Spark's log has for a source without an offset yet."""
_ENTRY = re.compile(r"(0|[1-9][0-9]*)(\.compact)?")


def check_sources(query: Query, found: Findings) -> None:
    """Spark reads such a log whole, from its last compaction on, when the query starts."""
    if not query.planned:
        return
    try:
        offsets = query.offsets(query.planned[-1])
    except StorageError:
        raise
    except CheckpointError:
        # It was told with the offset log.
        return
    for number, last in _by_folder(query, offsets):
        folder = query.folder / "sources" / str(number)
        there = [m for f in folder.files() if (m := _ENTRY.fullmatch(f.name))]
        compacted = [int(m[1]) for m in there if m[2] and int(m[1]) <= last]
        entries = {int(m[1]) for m in there}
        missing = max(compacted, default=0)
        while missing in entries:
            missing += 1
        if missing <= last:
            path = folder.path_of(str(missing))
            found.add(
                "error",
                path,
                f"{path} is not there, one of the entries in which source {number} keeps the files "
                "that it has read. Because of this a restart fails. Restore the folder from a "
                "backup of the checkpoint.",
            )


def _by_folder(query: Query, offsets: list[str]) -> list[tuple[int, int]]:
    """The folders of sources of files, each with the last entry that it has for certain.

    A query that has one source twice, as a join of a stream with itself, has an offset for each
    time and one folder for both, and nothing says which.
    """
    lasts = {n: _of_files(offset) for n, offset in enumerate(offsets) if offset != _NONE}
    of_files = {n: last for n, last in lasts.items() if last is not None}
    folders = {int(name) for name in (query.folder / "sources").folders() if name.isdecimal()}
    if not folders or len(folders) >= len(lasts):
        return list(of_files.items())
    if len(of_files) < len(lasts):
        return []
    return [(number, min(of_files.values())) for number in sorted(folders)]


def _of_files(offset: str) -> int | None:
    """The last entry of a source of files; None for the offset of another source."""
    try:
        raw = json.loads(offset)
    except ValueError:
        return None
    if not isinstance(raw, dict) or raw.keys() != {"logOffset"}:
        return None
    last = raw["logOffset"]
    return last if isinstance(last, int) and last >= 0 else None
