"""Runs every form on every contender, in turns, each in processes of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from bucketstate_nexmark.answers.compare import compare
from bucketstate_nexmark.events.files import Files, offer, offer_closing
from bucketstate_nexmark.queries.form import FEWEST_BATCHES
from bucketstate_nexmark.runs.figures import Batch, Restart, Run
from bucketstate_nexmark.runs.one import Task, Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bucketstate_nexmark.events.files import Amount
    from bucketstate_nexmark.events.model import Model
    from bucketstate_nexmark.queries.form import Form
    from bucketstate_nexmark.runs.contenders import Contender
    from bucketstate_nexmark.runs.sink import SinkName

_ERROR = re.compile(r"[\w.]+(?:Exception|Error)\b: ")
_LAST_WORDS = 400
"""Characters of an error that go into a report."""


@dataclass(frozen=True)
class Conditions:
    """What holds for all runs of a report."""

    model: Model
    amount: Amount
    sink: SinkName
    master: str
    cores: int
    partitions: int
    memory_mib: int
    patience_s: int
    """How long a process may take."""
    checkpoints: str | None = None
    """Where checkpoints are, if not beside the rest: any URI that Spark can write to."""
    conf: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    form: Form
    contender: Contender
    round: int


def turns(forms: Sequence[Form], contenders: Sequence[Contender], rounds: int) -> list[Turn]:
    """All runs, form by form: the contenders of a form run close to each other in time, and each
    round begins with another one."""
    return [
        Turn(form, contender, number)
        for form in forms
        for number in range(rounds)
        for contender in _from(contenders, number)
        if contender.takes(form)
    ]


def run_all(
    todo: Sequence[Turn], conditions: Conditions, events: Files, work: Path
) -> Iterator[Run]:
    """The runs, each when it has ended: one that fails is told as such, and the next one begins."""
    for turn in todo:
        folder = work / f"{turn.form.name}-{turn.contender.name}-{turn.round}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield _run(turn, conditions, events, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _from(contenders: Sequence[Contender], first: int) -> list[Contender]:
    at = first % len(contenders)
    return [*contenders[at:], *contenders[:at]]


def _run(turn: Turn, conditions: Conditions, events: Files, folder: Path) -> Run:
    form = turn.form
    amount = conditions.amount.portion(form.portion, FEWEST_BATCHES)
    files = Files(events.batches[: amount.batches], events.closing)
    measured = amount.batches - 1
    made = Run(
        form.name,
        turn.contender.name,
        turn.round,
        amount.events - amount.of_batch(measured),
        amount.per_batch,
    )
    source, output = folder / "source", folder / "output"
    task = Task(
        form.name,
        turn.contender.name,
        conditions.model.seed,
        conditions.model.rate,
        str(source),
        # Where others may have left theirs, no name is taken twice.
        f"{conditions.checkpoints or folder}/{folder.name}-{uuid4().hex[:12]}",
        str(output),
        conditions.sink,
        conditions.master,
        conditions.partitions,
        conditions.memory_mib,
        dict(conditions.conf),
    )
    offer(files, source, range(measured))
    log = folder.parent / "logs" / f"{folder.name}.log"
    first, failure = _in_process(task, conditions.patience_s, log)
    if first is None:
        return replace(made, failure=failure)
    made = replace(
        made,
        batches=tuple(first.batches),
        cpu_seconds=first.cpu_seconds,
        peak_bytes=first.peak_bytes,
        checkpoint_bytes=first.checkpoint_bytes,
    )
    # As on a machine that has never seen the checkpoint.
    _forget_cached(folder)
    offer(files, source, range(measured, amount.batches))
    offer_closing(files, source)
    second, failure = _in_process(task, conditions.patience_s, log)
    if second is None:
        return replace(made, failure=f"after a restart: {failure}")
    made = replace(made, restart=Restart(second.batches[0].ms, second.first_batch_ms))
    if conditions.sink == "noop":
        return made
    found = compare(form, files, output)
    return replace(
        made,
        answer_rows=found.rows,
        missing=found.missing,
        unexpected=found.unexpected,
        examples=found.examples,
    )


def _in_process(task: Task, patience_s: int, log: Path) -> tuple[Told | None, str]:
    """What a process told, or None and its last words; all that it said is in the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "bucketstate_nexmark.runs.one", json.dumps(asdict(task))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with log.open("ab") as said:
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment,
                timeout=patience_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"not done after {patience_s:,} s"
    if done.returncode == 0:
        told = json.loads(done.stdout.splitlines()[-1])
        told["batches"] = [Batch(**batch) for batch in told["batches"]]
        return Told(**told), ""
    return None, f"exit code {done.returncode}: {last_words(log.read_text('utf-8', 'replace'))}"


def last_words(log: str) -> str:
    """What of a log says why a process ended: no memory, or its last error, or its last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    memory = [line for line in lines if "OutOfMemoryError" in line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (memory or errors or lines or ["no words"])[-1][:_LAST_WORDS]


def _forget_cached(folder: Path) -> None:
    """Lets the system forget what it has in memory of a folder's files."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
