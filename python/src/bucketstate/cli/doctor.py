"""`bucketstate doctor`: what is slow or at risk, which setting helps, and why."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli.terminal.usage import EXIT_FOUND, EXIT_OK
from bucketstate.doctor import (
    Advice,
    Diagnosis,
    ProgressFileError,
    of_checkpoint,
    of_progress,
    read_progress,
)
from bucketstate.doctor.sources import event_logs, is_progress, refusals


def doctor(arguments: argparse.Namespace) -> int:
    found = {place: _diagnosis(place) for place in arguments.places}
    if arguments.json:
        print(json.dumps({place: asdict(one) for place, one in found.items()}, indent=2))
    else:
        print("\n".join(line for place, one in found.items() for line in _lines(place, one)))
    ill = any(one.advice for one in found.values())
    return EXIT_FOUND if ill and arguments.exit_code else EXIT_OK


def _diagnosis(place: str) -> Diagnosis:
    if is_progress(Path(place)):
        return _of_progress(Path(place))
    if logs := event_logs(Path(place)):
        raise ProgressFileError(
            f"{place} is a folder of event logs: give those of the applications that are meant, "
            f"such as {logs[0]}."
        )
    return of_checkpoint(Checkpoint(place).overview())


def _of_progress(path: Path) -> Diagnosis:
    refused = refusals(path)
    try:
        found = of_progress(read_progress(path))
    except ProgressFileError as error:
        # What was refused reports nothing.
        if not refused:
            raise
        found = Diagnosis((), (str(error),))
    return replace(found, notes=(*found.notes, *refused))


def _lines(place: str, found: Diagnosis) -> Iterator[str]:
    yield place
    for advice in found.advice:
        yield from _advice(advice)
    for note in found.notes:
        yield f"  note: {note}"
    if not found.advice and not found.notes:
        yield "  nothing that a setting would help"


def _advice(advice: Advice) -> Iterator[str]:
    yield f"  {advice.about}: {advice.what}"
    if advice.figures:
        yield f"    figures: {advice.figures_text}"
    yield f"    helps: {advice.help}"
    if advice.settings:
        yield f"    settings: {', '.join(advice.settings)}"
