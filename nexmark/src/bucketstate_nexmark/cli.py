"""The command line: which forms, which contenders, how many events, and where the report goes."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bucketstate_nexmark import options as read
from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.events.files import Amount, folder_name, write
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.results import page, picture, report
from bucketstate_nexmark.runs.contenders import CONTENDERS, chosen
from bucketstate_nexmark.runs.turns import Conditions, run_all, turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bucketstate_nexmark.runs.figures import Run
    from bucketstate_nexmark.runs.turns import Turn

LEAST_RATE = 1_000
"""Below, auctions are open for longer than a watermark waits."""
LEAST_BATCHES = 3
"""One that counts, one before it, and one behind a restart."""

REPORT = "report.json"
KEPT = "measured-nexmark.json"
"""The report that a page is made of, beside the page."""

_EPILOG = """\
examples:
  python -m bucketstate_nexmark --list
  python -m bucketstate_nexmark --events 500k --queries q5,q18-* --contenders rocksdb-tuned,bucketed
  python -m bucketstate_nexmark --partitions 200 --checkpoints s3a://bucket/nexmark --conf KEY=VALUE
  python -m bucketstate_nexmark --report artifacts/nexmark/report.json --page docs/nexmark.md
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0; 1 if an answer is wrong or a run has failed; 2 for what cannot be."""
    options = _parser().parse_args(arguments)
    try:
        if options.list:
            _list()
            return 0
        if options.report:
            return _tell(options.report, options.page, options.picture)
        return _measure(options)
    except UsageError as e:
        print(f"bucketstate_nexmark: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped: the report has what had ended.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bucketstate_nexmark",
        description="Nexmark for PySpark Structured Streaming, on state stores side by side.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="the queries and contenders there are")
    parser.add_argument("--queries", default=",".join(FORMS), help="with commas; all, if left out")
    parser.add_argument(
        "--contenders", default=",".join(CONTENDERS), help="with commas; all, if left out"
    )
    parser.add_argument("--events", default="10M", help="such as 500k; 10M, if left out")
    parser.add_argument("--per-batch", default="100k", help="events of each batch: 100k")
    parser.add_argument("--rate", default="10k", help="events for a second of their own time: 10k")
    parser.add_argument("--seed", default=str(Model().seed), help="of the events")
    parser.add_argument("--rounds", default="1", help="how often each form runs; medians are told")
    parser.add_argument("--memory", default="3g", help="of a contender's process: 3g")
    parser.add_argument("--cores", default="2", help="of a contender's process: 2")
    parser.add_argument("--partitions", default="4", help="of the state: 4")
    parser.add_argument("--master", help="Spark's; one process with --cores, if left out")
    parser.add_argument("--checkpoints", help="a URI for them, if not in --work")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--sink",
        choices=("parquet", "noop"),
        default="parquet",
        help="where rows go; with noop no answer is checked",
    )
    parser.add_argument("--patience", default="3600", help="seconds that a process may take")
    parser.add_argument(
        "--resume", action="store_true", help="keeps the runs of the report that is there"
    )
    parser.add_argument("--note", help="what a reader has to know of the figures")
    parser.add_argument("--work", type=Path, default=Path("artifacts/nexmark"))
    parser.add_argument("--report", type=Path, help="runs nothing, and tells what is in this file")
    parser.add_argument(
        "--page",
        type=Path,
        help=f"a page whose figures are those of the report; kept beside it as {KEPT}",
    )
    parser.add_argument("--picture", type=Path, help="a picture of the report")
    return parser


def _list() -> None:
    for form in FORMS.values():
        print(f"{form.name:15} {form.asks} ({form.kind}, {form.mode})")
    print()
    for contender in CONTENDERS.values():
        print(f"{contender.name:17} {contender.what}")


def _tell(file: Path, into: Path | None, drawn: Path | None) -> int:
    """Writes the page and the picture of a report, or prints the page's tables."""
    found = report.read(file)
    if drawn is not None:
        said = f"Drawn: {drawn}" if picture.draw(found, drawn) else "Nothing to draw beside."
        print(said, file=sys.stderr)
    if into is not None:
        page.put_into(into, page.tables(found))
        kept = into.with_name(KEPT)
        report.keep(found, kept)
        print(f"Written: {into}, and {kept}, which it is made of", file=sys.stderr)
    elif drawn is None:
        print(page.tables(found))
    return 0


def _measure(options: argparse.Namespace) -> int:
    amount = Amount(
        read.count("--events", options.events), read.count("--per-batch", options.per_batch)
    )
    if amount.batches < LEAST_BATCHES:
        raise UsageError(
            f"--events: {options.events} are {amount.batches} batches of {amount.per_batch:,}, and "
            f"at least {LEAST_BATCHES} are needed: more events, or a smaller --per-batch."
        )
    cores = read.count("--cores", options.cores)
    conditions = Conditions(
        Model(
            read.count("--seed", options.seed, least=0),
            read.count("--rate", options.rate, least=LEAST_RATE),
        ),
        amount,
        options.sink,
        options.master or f"local[{cores}]",
        cores,
        read.count("--partitions", options.partitions),
        read.memory("--memory", options.memory),
        read.count("--patience", options.patience),
        options.checkpoints,
        read.conf("--conf", options.conf),
    )
    todo = turns(
        read.forms(options.queries),
        chosen(options.contenders),
        read.count("--rounds", options.rounds),
    )
    if not todo:
        raise UsageError(
            "--contenders: none of them can run any of --queries: transformWithState asks for "
            "state in parts, which hdfs has not."
        )
    work = options.work.absolute()
    done = _resumed(work / REPORT, conditions) if options.resume else []
    return _run(todo, conditions, work, options.note, done)


def _resumed(file: Path, conditions: Conditions) -> list[Run]:
    """The runs of an earlier report that have ended well; none if there is no report.

    Raises UsageError if it is of another version, or was made under other conditions.
    """
    if not file.exists():
        return []
    found = report.read(file)
    if not found.is_of(conditions):
        raise UsageError(
            f"--resume: {file} is of another version, other conditions or another machine. Leave "
            "--resume out, or choose another --work."
        )
    return [run for run in found.runs if run.failure is None]


def _run(
    every: Sequence[Turn],
    conditions: Conditions,
    work: Path,
    note: str | None,
    runs: list[Run],
) -> int:
    amount = conditions.amount
    known = {(run.form, run.contender, run.round) for run in runs}
    todo = [t for t in every if (t.form.name, t.contender.name, t.round) not in known]
    folder = work / "events" / folder_name(conditions.model, amount)
    _say(f"Events: {amount.events:,} in {amount.batches} files below {folder}")
    files = write(folder, conditions.model, amount, lambda batch: _made(batch, amount.batches))
    file = work / REPORT
    began = time.monotonic()
    for number, run in enumerate(run_all(todo, conditions, files, work), start=1):
        runs.append(run)
        report.write(file, conditions, note, runs)
        _say(_line(run, number, len(todo), time.monotonic() - began))
    found = report.read(file)
    (work / "report.md").write_text(page.tables(found), "utf-8")
    picture.draw(found, work / "report.png")
    print(page.tables(found))
    _say(f"Report: {file}, and report.md and report.png beside it")
    return 1 if any(run.failure is not None or run.correct is False for run in runs) else 0


def _made(batch: int, of: int) -> None:
    """Tells of each tenth part of the files that is written."""
    if (batch + 1) * 10 // of > batch * 10 // of:
        _say(f"  {batch + 1} of {of} files written")


def _line(run: Run, number: int, of: int, seconds: float) -> str:
    left = seconds / number * (of - number) / 60
    took = sum(batch.ms for batch in run.batches) / 1000
    if run.failure is not None:
        said = f"FAILED: {run.failure}"
    elif run.correct is False:
        said = f"WRONG: {run.missing:,} rows missing, {run.unexpected:,} unexpected"
    else:
        said = f"{run.events / max(took, 1e-9):,.0f} events/s"
        said += ", not checked" if run.correct is None else ", correct"
    return f"[{number}/{of}] {run.form} on {run.contender}: {said} (about {left:.0f} min left)"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
