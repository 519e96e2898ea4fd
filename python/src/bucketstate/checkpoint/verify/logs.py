"""Whether Spark's logs of batches can be read, and what they lack."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.verify.report import Findings
from bucketstate.errors import CheckpointError, StorageError


def check_logs(catalog: Catalog, found: Findings) -> None:
    """Reads every entry of the offset log and of the commit log."""
    query = catalog.query
    if query.repartition is not None:
        found.add("error", query.repartition.files[-1], query.repartition.summary)
    readers: list[tuple[str, list[int], Callable[[int], object]]] = [
        ("offsets", query.planned, query.settings),
        ("commits", query.committed, query.commit),
    ]
    for name, batches, read in readers:
        for batch in batches:
            found.files += 1
            try:
                read(batch)
            except StorageError:
                raise
            except CheckpointError as error:
                found.add("error", (query.folder / name).path_of(str(batch)), str(error))
    _missing_commits(catalog, found)


def _missing_commits(catalog: Catalog, found: Findings) -> None:
    """A batch is planned when the one before it was committed, so only the last need not be."""
    query = catalog.query
    if not query.planned:
        if query.committed:
            path = (query.folder / "offsets").location
            found.add(
                "error",
                path,
                f"{path} is empty, though batch {query.committed[-1]} was committed. Because of "
                "this a restart fails. Restore the offset log from a backup of the checkpoint.",
            )
        return
    planned = query.planned[-1]
    first = min([*query.committed, *query.planned])
    there = sorted({first - 1, *query.committed, planned})
    # Between those that are there: a stray name may be any number.
    for before, after in pairwise(there):
        if after - before == 1:
            continue
        of = (before + 1, after - 1)
        folder = query.folder / "commits"
        path = folder.path_of(str(of[0])) if of[0] == of[1] else folder.location
        what = "is not there" if of[0] == of[1] else f"has no batch {of[0]} to {of[1]}"
        because = f"batch {planned} was planned" if of[-1] == planned - 1 else "later ones are"
        found.add(
            "error",
            path,
            f"{path} {what}, though {because}. A restart goes by what is left, and opens version "
            f"{catalog.restart_version}. Restore the commit log from a backup of the checkpoint.",
        )
