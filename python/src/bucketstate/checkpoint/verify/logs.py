"""Whether Spark's logs of batches can be read, and what they lack."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from bucketstate.checkpoint.spark.query import Query, numbers
from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.verify.report import FAILS, Findings
from bucketstate.checkpoint.verify.sources import check_sources
from bucketstate.errors import CheckpointError, MissingFileError


def check_logs(catalog: Catalog, found: Findings) -> None:
    """Reads every entry of the offset log and of the commit log."""
    query = catalog.query
    if query.repartition is not None:
        found.add("error", query.repartition.files[-1], query.repartition.summary)
    _metadata(catalog, found)
    readers: list[tuple[str, list[int], Callable[[int], object]]] = [
        ("offsets", query.planned, _read_offsets(query)),
        ("commits", query.committed, query.commit),
    ]
    for name, batches, read in readers:
        for batch in batches:
            found.files += 1
            try:
                read(batch)
            except CheckpointError as error:
                if isinstance(error, MissingFileError) and _cleaned_up(query, name, batch):
                    continue
                needed = batch in (query.planned[-2:] if name == "offsets" else batches[-1:])
                what = f"{error} {FAILS}" if needed else str(error)
                found.add("error", (query.folder / name).path_of(str(batch)), what)
    _cut_commit(query, found)
    if query.planned:
        _missing_offsets(catalog, found)
        _missing_commits(catalog, found)
    else:
        _no_offsets(catalog, found)
    check_sources(query, found)


def _cleaned_up(query: Query, name: str, batch: int) -> bool:
    """Whether an entry is older than all that are there now: Spark has removed it since."""
    there = numbers(f.name for f in (query.folder / name).files())
    return bool(there) and batch < there[0]


def _read_offsets(query: Query) -> Callable[[int], object]:
    def read(batch: int) -> None:
        query.settings(batch)
        query.offsets(batch)

    return read


def _cut_commit(query: Query, found: Findings) -> None:
    """Spark takes a last commit of one line for one that says nothing."""
    if not query.committed:
        return
    batch = query.committed[-1]
    try:
        commit = query.commit(batch)
        before = query.watermark_of(batch)
    except CheckpointError:
        # It was told with its log.
        return
    if commit.cut:
        which = "none" if not before else f"{before} ms since 1970"
        found.add(
            "warning",
            commit.path,
            f"{commit.path} has its first line alone, as where it was cut off. A restart goes on "
            f"with the watermark that batch {batch} itself had ({which}), not with the one that it "
            "made. Restore the file from a backup of the checkpoint.",
        )


def _metadata(catalog: Catalog, found: Findings) -> None:
    """Whether the query's id can be read, without which Spark starts no query that has a log."""
    query = catalog.query
    path = query.folder.path_of("metadata")
    origin = query.marks.origin
    if origin is not None and not origin.finished:
        # It lets no query start until all is there, which is told by the marker.
        return
    found.files += 1
    try:
        there = query.id is not None
    except CheckpointError as error:
        found.add("error", path, f"{error} {FAILS}")
        return
    if not there:
        found.add(
            "error",
            path,
            f"{path} is not there, by which Spark knows the query. {FAILS} Restore the file from "
            "a backup of the checkpoint.",
        )


def _no_offsets(catalog: Catalog, found: Findings) -> None:
    """There is state, and a query that made some has planned a batch."""
    query = catalog.query
    path = (query.folder / "offsets").location
    if query.committed:
        though, which = f"though batch {query.committed[-1]} was committed.", "the offset log"
    else:
        begun = "though there is state, which Spark does not begin a query on."
        though, which = f"and so is the commit log, {begun}", "both logs"
    found.add(
        "error",
        path,
        f"{path} is empty, {though} {FAILS} Restore {which} from a backup of the checkpoint.",
    )


def _missing_offsets(catalog: Catalog, found: Findings) -> None:
    """A restart reads the last batch that was planned, and the one before."""
    query = catalog.query
    last = query.planned[-1]
    folder = query.folder / "offsets"
    gone = []
    if query.committed and query.committed[-1] > last:
        gone.append((last + 1, f"though batch {query.committed[-1]} was committed"))
    if last > 0 and last - 1 not in query.planned:
        gone.append((last - 1, f"though batch {last} was planned"))
    for batch, though in gone:
        path = folder.path_of(str(batch))
        found.add(
            "error",
            path,
            f"{path} is not there, {though}. {FAILS} Restore the offset log from a backup of the "
            "checkpoint.",
        )


def _missing_commits(catalog: Catalog, found: Findings) -> None:
    """A batch is planned when the one before it was committed, so only the last need not be."""
    query = catalog.query
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
