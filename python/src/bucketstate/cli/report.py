"""`bucketstate report`: one HTML page about a checkpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bucketstate.cli.export import ExportError, check_target
from bucketstate.cli.terminal import console
from bucketstate.cli.terminal.rows import as_json
from bucketstate.cli.terminal.telling import tell
from bucketstate.cli.terminal.usage import EXIT_FOUND, EXIT_OK, STANDARD_OUTPUT
from bucketstate.doctor import read_progress
from bucketstate.errors import InvalidArgumentError
from bucketstate.report import write_report
from bucketstate.report.writing import page_about
from bucketstate.units import size


def report(arguments: argparse.Namespace) -> int:
    if arguments.output == STANDARD_OUTPUT:
        return _to_standard_output(arguments)
    target = Path(arguments.output)
    check_target(target, overwrite=arguments.overwrite)
    with nullcontext() if arguments.json else console.progress("reading files") as advance:
        written = write_report(arguments.checkpoint, target, **_how(arguments, advance))
    if arguments.json:
        found = {"output": str(written.output), "bytes": written.bytes, "ok": written.ok}
        print(as_json(found))
    else:
        verdict = "" if written.ok else f": {_DAMAGED}"
        print(f"{written.output} ({size(written.bytes)}){verdict}")
    return EXIT_OK if written.ok else EXIT_FOUND


_DAMAGED = "the checkpoint is DAMAGED, the page says where"


def _to_standard_output(arguments: argparse.Namespace) -> int:
    if arguments.json:
        raise InvalidArgumentError("--json tells of the file that was written: leave out one.")
    if sys.stdout is None:
        raise ExportError("Standard output is closed: name a file.")
    data, ok = page_about(arguments.checkpoint, **_how(arguments, None))
    sys.stdout.buffer.write(data)
    if not ok:
        tell(f"bucketstate: {_DAMAGED}")
    return EXIT_OK if ok else EXIT_FOUND


def _progress(files: Sequence[str]) -> list[Any] | None:
    """The progress of all runs of the query, each of which may have a file of its own."""
    return [one for file in files for one in read_progress(Path(file))] if files else None


def _how(arguments: argparse.Namespace, advance: console.Advance | None) -> dict[str, Any]:
    return {
        "progress": _progress(arguments.progress),
        "state": not arguments.quick,
        "advance": advance,
    }
