"""`bucketstate report`: one HTML page about a checkpoint."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bucketstate.cli import console
from bucketstate.cli.rows import as_json
from bucketstate.cli.usage import EXIT_FOUND, EXIT_OK
from bucketstate.doctor import read_progress
from bucketstate.report import Written, write_report
from bucketstate.units import size


def report(arguments: argparse.Namespace) -> int:
    if arguments.json:
        written = _write(arguments)
        found = {"output": str(written.output), "bytes": written.bytes, "ok": written.ok}
        print(as_json(found))
    else:
        with console.progress("reading files") as advance:
            written = _write(arguments, advance)
        verdict = "" if written.ok else ": the checkpoint is DAMAGED, the page says where"
        print(f"{written.output} ({size(written.bytes)}){verdict}")
    return EXIT_OK if written.ok else EXIT_FOUND


def _progress(files: Sequence[str]) -> list[Any] | None:
    """The progress of all runs of the query, each of which may have a file of its own."""
    return [one for file in files for one in read_progress(Path(file))] if files else None


def _write(arguments: argparse.Namespace, advance: console.Advance | None = None) -> Written:
    return write_report(
        arguments.checkpoint,
        arguments.output,
        progress=_progress(arguments.progress),
        state=not arguments.quick,
        advance=advance,
    )
