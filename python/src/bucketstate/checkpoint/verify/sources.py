"""Whether what sources of files keep of their own names the files that a restart asks it for."""

from __future__ import annotations

import json
import re

from bucketstate.checkpoint.format.damage import damaged, decoding, format_of, json_object
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.query import Query
from bucketstate.checkpoint.verify.report import FAILS, Findings
from bucketstate.errors import CheckpointError

_NONE = "-"
"""What Spark's log has for a source without an offset yet."""
_ENTRY = re.compile(r"(0|[1-9][0-9]*)(\.compact)?")
_FORMAT = 1
_OF_A_FILE = {"path", "timestamp", "batchId"}


def check_sources(query: Query, found: Findings) -> None:
    """Spark reads such a log whole, from its last compaction on, when the query starts."""
    if not query.planned:
        return
    try:
        offsets = query.offsets(query.planned[-1])
    except CheckpointError:
        # It was told with the offset log.
        return
    for number, last in _by_folder(query, offsets):
        folder = query.folder / "sources" / str(number)
        there = [m for f in folder.files() if (m := _ENTRY.fullmatch(f.name))]
        compacted = [int(m[1]) for m in there if m[2] and int(m[1]) <= last]
        entries = {int(m[1]) for m in there}
        missing = first = max(compacted, default=0)
        while missing in entries:
            missing += 1
        if missing <= last:
            path = folder.path_of(str(missing))
            found.add(
                "error",
                path,
                f"{path} is not there, one of the entries in which source {number} keeps the files "
                f"that it has read. {FAILS} Restore the folder from a backup of the checkpoint.",
            )
        # Of two of one number Spark reads the compacted one, whose name comes last.
        names = {int(m[1]): m[0] for m in sorted(there, key=lambda m: m[0])}
        for entry in sorted(n for n in names if n >= first):
            _check_entry(folder, names[entry], found)


def _check_entry(folder: Folder, name: str, found: Findings) -> None:
    path = folder.path_of(name)
    found.files += 1
    try:
        files = _files_in(folder, name)
    except CheckpointError as error:
        found.add("error", path, f"{error} {FAILS}")
        return
    if not files:
        found.add(
            "error",
            path,
            f"{path} names no file, as where it was cut off. A restart takes what its batch had "
            "read for new files, and reads them once more. Restore the folder from a backup of the "
            "checkpoint.",
        )


def _files_in(folder: Folder, name: str) -> int:
    """How many files an entry names; DamagedFileError where Spark cannot read it."""
    path = folder.path_of(name)
    with decoding(path, "list of files"):
        head, *files = folder.read(name).decode("utf-8").removesuffix("\n").split("\n")
    if not head:
        raise damaged(path, "it is empty")
    format_of(head.strip(), path, "a source's log", _FORMAT)
    with decoding(path, "list of files"):
        for line in files:
            if lacking := _OF_A_FILE - json_object(line).keys():
                raise ValueError(f"a file without {', '.join(sorted(lacking))}")
    return len(files)


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
