"""Whether what sources of files keep of their own names the files that a restart asks it for."""

from __future__ import annotations

import json
import re

from bucketstate.checkpoint.format.damage import damaged, decoding, format_of, json_object
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.query import Query, is_number
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
    for name, last in _by_folder(query, offsets):
        folder = query.folder / "sources" / name
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
                f"{path} is not there, one of the entries in which source {name} keeps the files "
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


def _by_folder(query: Query, offsets: list[tuple[str | None, str]]) -> list[tuple[str, int]]:
    """The folders of sources of files, each with the last entry that it has for certain.

    Sources that have names have folders of these. Others have numbers: a query that has one source
    twice, as a join of a stream with itself, counts it twice, and there is one folder for both, and
    nothing says which.
    """
    with_ids = any(name is not None for name, _ in offsets)
    given = {name or str(n): offset for n, (name, offset) in enumerate(offsets)}
    lasts = {name: _of_files(offset) for name, offset in given.items() if offset != _NONE}
    of_files = {name: last for name, last in lasts.items() if last is not None}
    if not all(map(is_number, given)):
        return list(of_files.items())
    folders = (query.folder / "sources").folders()
    if not all(map(is_number, folders)):
        # Their folders have names, and nothing says which is whose.
        return []
    if with_ids:
        # A source that is counted twice has the second number, and the first one is missing. One
        # without an offset is missing, too, and may have a folder.
        is_plain = given.keys() == {str(n) for n in range(len(given))}
        is_told = len(folders) == len(lasts)
    else:
        is_plain = not folders or len(folders) >= len(lasts)
        is_told = True
    if is_plain:
        return list(of_files.items())
    if len(of_files) < len(lasts) or not is_told:
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
