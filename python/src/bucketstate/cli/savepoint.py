"""`bucketstate savepoint`: what is held of a checkpoint for somebody to go back to."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bucketstate.checkpoint import Checkpoint, SavepointOverview
from bucketstate.checkpoint.overview import held_of
from bucketstate.checkpoint.savepoints import create, drop
from bucketstate.cli.terminal import console
from bucketstate.cli.terminal.rows import as_json
from bucketstate.cli.terminal.usage import EXIT_OK
from bucketstate.units import size


def savepoint(arguments: argparse.Namespace) -> int:
    {"create": _create, "list": _list, "drop": _drop}[arguments.action](arguments)
    return EXIT_OK


def _create(arguments: argparse.Namespace) -> None:
    made = create(
        arguments.checkpoint, arguments.name, batch=arguments.batch, stopped=arguments.stopped
    )
    if arguments.json:
        print(as_json({"name": made.name, "batch": made.batch, "created": made.created}))
    else:
        print(f"{made.name} holds what batch {made.batch} made, which is version {made.version}")


def _list(arguments: argparse.Namespace) -> None:
    found = held_of(Checkpoint(arguments.checkpoint))
    if arguments.json:
        print(as_json([asdict(s) for s in found]))
    elif found:
        console.console().print(held_table(found))
    else:
        print("no savepoints")


def _drop(arguments: argparse.Namespace) -> None:
    drop(arguments.checkpoint, arguments.name)
    if arguments.json:
        print(as_json({"dropped": arguments.name}))
    else:
        print(f"{arguments.name} is dropped; what only it needed goes when the query cleans up")


def held_table(found: tuple[SavepointOverview, ...]) -> object:
    """What savepoints hold, for people."""
    columns = ["name", "#batch", "created, in UTC", "#bytes that nothing else needs"]
    rows = [
        [
            s.name,
            s.batch,
            f"{s.created:%Y-%m-%d %H:%M:%S}",
            "cannot be read" if s.bytes is None else size(s.bytes),
        ]
        for s in found
    ]
    return console.table("savepoints", columns, rows)
