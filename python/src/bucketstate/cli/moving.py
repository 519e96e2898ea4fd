"""The commands that make a checkpoint of another one, and that take one back."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from bucketstate.cli.terminal import console
from bucketstate.cli.terminal.rows import as_json
from bucketstate.cli.terminal.usage import EXIT_OK
from bucketstate.move import CloneReport, RewindReport
from bucketstate.move import clone as _clone
from bucketstate.move import fork as _fork
from bucketstate.move import rewind as _rewind
from bucketstate.units import size

Command = Callable[[argparse.Namespace], int]


def clone(arguments: argparse.Namespace) -> int:
    return _made(_clone, arguments, keep_query_id=arguments.keep_query_id)


def fork(arguments: argparse.Namespace) -> int:
    return _made(_fork, arguments)


def _made(make: Callable[..., CloneReport], arguments: argparse.Namespace, **more: bool) -> int:
    report = make(
        arguments.source,
        arguments.target,
        batch=arguments.batch,
        savepoint=arguments.savepoint,
        how=arguments.how,
        dry_run=arguments.dry_run,
        **more,
    )
    return _told(report, _lines_of_clone(report), arguments)


def rewind(arguments: argparse.Namespace) -> int:
    report = _rewind(
        arguments.checkpoint,
        arguments.batch,
        savepoint=arguments.savepoint,
        stopped=arguments.stopped,
        dry_run=arguments.dry_run,
    )
    return _told(report, _lines_of_rewind(report), arguments)


COMMANDS: dict[str, Command] = {"clone": clone, "fork": fork, "rewind": rewind}


def _told(
    report: CloneReport | RewindReport, lines: Iterator[str], arguments: argparse.Namespace
) -> int:
    if arguments.json:
        print(as_json(report.to_dict()))
        return EXIT_OK
    terminal = console.console()
    for line in lines:
        terminal.print(line, markup=False, soft_wrap=True)
    return EXIT_OK


def _lines_of_clone(report: CloneReport) -> Iterator[str]:
    made = "would be" if report.dry_run else "is"
    keys = "" if report.keys is None else f", {report.keys:,} keys"
    yield f"{report.target} {made} a {report.kind} of {report.source} after batch {report.batch}"
    yield (
        f"{report.stores:,} stores at version {report.version}{keys}: {report.files:,} files of "
        f"{size(report.bytes)}, {report.linked:,} of them hard links, in {report.seconds:g} s"
    )
    if report.planned_batch is not None:
        yield f"batch {report.planned_batch} was planned, and runs as it was planned"
    if not report.dry_run:
        yield f"query id {report.query_id}"
    yield from report.notes


def _lines_of_rewind(report: RewindReport) -> Iterator[str]:
    if not (report.dropped or report.changelogs or report.manifests or report.restored):
        yield f"{report.checkpoint}: there is nothing after batch {report.batch}"
        return
    which = "what was left of a rewind"
    if report.dropped:
        # Also those that Spark's logs have forgotten.
        first, last = report.batch + 1, report.dropped[-1]
        which = f"batch {first}" if first == last else f"batches {first} to {last}"
    done = "would be dropped" if report.dry_run else "dropped"
    yield f"{report.checkpoint}: {which} {done}, batch {report.batch} is the last one"
    yield (
        f"{report.manifests:,} manifests and {report.changelogs:,} changelogs of "
        f"{size(report.bytes)}, in {report.seconds:g} s"
    )
    if report.restored:
        restored = "would be restored" if report.dry_run else "restored"
        yield f"{report.restored:,} of Spark's own files {restored} from {report.savepoint}"
    yield from report.notes
