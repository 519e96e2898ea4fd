"""Reads every file of a checkpoint, and says what is damaged and what a restart would do."""

from __future__ import annotations

import logging

from bucketstate.checkpoint.format.origin import FOLDER
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.store.catalog import Catalog, every_store
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.store import Store
from bucketstate.checkpoint.verify.logs import check_logs
from bucketstate.checkpoint.verify.one_store import FileCount, Progress, StoreVerifier
from bucketstate.checkpoint.verify.report import Findings, Report, Severity
from bucketstate.checkpoint.verify.variables import check_schemas
from bucketstate.errors import CheckpointError

_log = logging.getLogger("bucketstate.checkpoint")

_STORES = 4
"""How many stores are read at a time, where they are waited for: they share the memory.

On a local disk they are read one after the other, because Python's threads only wait for one
another there: with four it took 1.6 times as long.
"""
_MEMORY = 12 * 1024 * 1024
"""Bytes of keys and values held at a time, by all of them."""


def verify(catalog: Catalog, progress: Progress | None = None) -> Report:
    """Verifies every checksum and reference of a checkpoint, and every version Spark could ask for.

    Those are the restart's version and that of every batch in Spark's commit log that retention
    still has to keep. Damage is reported, not raised; StorageError is raised, because a file system
    that fails says nothing about the checkpoint.
    """
    found = Findings()
    _pass_over(catalog, found)
    for operator in catalog.operators:
        for info in operator.stores:
            check_schemas(catalog, operator, info, found)
    stores = list(every_store(catalog))
    check_logs(catalog, found)
    savepoints = _savepoints(catalog, found)
    copied = catalog.query.copied
    if copied is not None:
        found.add("error" if copied.gone else "warning", copied.metadata[0], copied.summary)
    marks = catalog.query.marks
    path = (catalog.query.folder / FOLDER).location
    if marks.half_done is not None:
        found.add("error", path, marks.half_done)
    elif marks.origin is not None:
        found.add("note", path, marks.origin.summary)
    total = found.files + sum(in_order(lambda store: len(store.files), stores))
    _log.info("verifying %d files of %d stores in %s", total, len(stores), catalog.location)
    count = FileCount(found.files, total, progress)
    at_once = 1 if catalog.query.folder.is_local else _STORES

    def verified(store: Store) -> Findings:
        return StoreVerifier(catalog, store, savepoints, count, _MEMORY // at_once).run()

    for of_store in in_order(verified, stores, at_once):
        found.include(of_store)
    return Report(
        catalog.location,
        tuple(found.findings),
        tuple(found.restarts),
        found.files,
        found.bytes,
        found.versions,
    )


def _pass_over(catalog: Catalog, found: Findings) -> None:
    """Tells of operators that Spark's own record of cannot be read: their folders say less.

    With that record it starts a transformWithState; the others it starts without.
    """
    for number in catalog.query.operator_ids:
        try:
            catalog.query.operator(number)
        except CheckpointError as error:
            needed = catalog.query.starts_by_record(number)
            because = " Because of this a restart fails." if needed else ""
            severity: Severity = "error" if needed else "warning"
            found.add(severity, error.path or catalog.location, f"{error}{because}")
            catalog.query.pass_over(number)


def _savepoints(catalog: Catalog, found: Findings) -> tuple[Savepoint, ...]:
    try:
        savepoints = catalog.savepoints
    except CheckpointError as error:
        found.add("error", error.path or catalog.location, str(error))
        return ()
    found.files += len(savepoints)
    return savepoints
