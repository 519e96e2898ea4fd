"""The commands that move a checkpoint with a Spark session of their own: planned, then run."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bucketstate.cli.session import session
from bucketstate.cli.terminal.usage import EXIT_FAILED, EXIT_FOUND, EXIT_OK
from bucketstate.interrupts import undone
from bucketstate.units import size

if TYPE_CHECKING:
    from bucketstate.move.planning import Plan, Progress, Report

_KINDS = {
    "import": "a checkpoint of Spark's own providers into one of bucketstate",
    "export": "a checkpoint of bucketstate into one of Spark's own providers",
    "rewrite": "a checkpoint of bucketstate to other partitions, buckets or formats",
    "handover": "the state of a query to sources that begin anew",
    "upsert": "rows into a copy of a checkpoint of bucketstate",
}


_OF_A_MOVE = (
    "batch",
    "partitions",
    "buckets",
    "format",
    "delete_keys",
    "operator",
    "offsets",
    "source_provider",
    "dry_run",
    "read",
)
"""Options of a rewrite that say what is made, or whether it is."""


def add_kinds(command: argparse.ArgumentParser) -> None:
    kinds = command.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, what in _KINDS.items():
        _add(name, kinds.add_parser(name, help=what, description=f"Moves {what}."))


def _add(name: str, command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source",
        metavar="SRC",
        help="the query's checkpointLocation; it is only read, except with --in-place",
    )
    folder = "a folder that is empty, or not there"
    if name == "rewrite":
        command.add_argument("target", metavar="DST", nargs="?", help=f"{folder}; none in place")
        command.add_argument(
            "--in-place",
            action="store_true",
            help="SRC itself gets other --partitions, as a batch of its own (Spark 4.2 and newer)",
        )
        command.add_argument(
            "--undo",
            action="store_true",
            help="with --in-place: take that back, as long as the query has not gone on",
        )
    else:
        command.add_argument("target", metavar="DST", help=folder)
    command.add_argument(
        "--batch", type=int, metavar="N", help="as it was after batch N (default: the last one)"
    )
    if name in ("export", "handover"):
        command.add_argument(
            "--to",
            choices=("rocksdb", "hdfs") if name == "export" else ("bucketstate", "rocksdb", "hdfs"),
            default=None if name == "export" else "bucketstate",
            required=name == "export",
            help="whose files DST gets",
        )
    command.add_argument("--partitions", type=int, metavar="N", help="of all operators with keys")
    if name != "export":
        command.add_argument("--buckets", type=int, metavar="N", help="in each store")
    command.add_argument("--format", type=int, choices=(1, 2), help="of the checkpoint")
    command.add_argument(
        "--delete-keys",
        metavar="CONDITION",
        help="leave out the keys that this SQL condition on the columns of the grouping key is "
        "true for, with all that the operator keeps of them",
    )
    command.add_argument(
        "--operator", type=int, metavar="N", help="whose keys these are (default: the only one)"
    )
    if name == "upsert":
        command.add_argument(
            "--from",
            dest="rows",
            required=True,
            metavar="PATH",
            help="Parquet files with a row for each key that is given: columns of the key and of "
            "the value, by their names, as `bucketstate export` writes them",
        )
        command.add_argument(
            "--state",
            metavar="TYPE",
            help="the state class of a function of bucketstate.stateful, as MODULE:CLASS or as a "
            "DDL text; the rows have its fields, or a column `state`",
        )
    command.add_argument(
        "--offsets",
        metavar="options|FILE",
        required=name == "handover",
        help="where sources begin: 'options' for where their own options say (Kafka's for a stream "
        "is the latest, unless startingOffsets is set), or a file with a line of Spark's offset "
        "log for each",
    )
    command.add_argument(
        "--source-provider",
        choices=("bucketstate", "rocksdb", "hdfs"),
        help="whose files SRC has, where the class that was recorded is not known",
    )
    command.add_argument(
        "--verify",
        choices=("full", "counts"),
        default="full",
        help="full (default): read DST back before it is published",
    )
    command.add_argument("--master", default="local[*]", help="default: local[*]")
    command.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the session, such as spark.driver.memory. Can be given again.",
    )
    command.add_argument("--dry-run", action="store_true", help="print the plan, write nothing")
    command.add_argument(
        "--read", action="store_true", help="with --dry-run: read and check all state"
    )
    command.add_argument("--json", action="store_true", help="JSON, for programs")


def move(arguments: argparse.Namespace) -> int:
    """Plans the move, prints that, and makes it."""
    from bucketstate.move.planning import plan

    in_place = getattr(arguments, "in_place", False)
    _check_places(arguments, in_place=in_place)
    if getattr(arguments, "undo", False):
        return _undo(arguments)
    # What cannot be is said before Spark starts.
    offsets, state = _offsets(arguments.offsets), _state(arguments)
    # Spark has a handler of its own for SIGINT, which waits for its tasks.
    with undone(), session(arguments) as spark:
        made = plan(
            spark,
            arguments.source,
            arguments.target,
            arguments.kind,
            batch=arguments.batch,
            to=getattr(arguments, "to", None) or "bucketstate",
            partitions=arguments.partitions,
            buckets=getattr(arguments, "buckets", None),
            checkpoint_format=arguments.format,
            delete_keys=arguments.delete_keys,
            operator=arguments.operator,
            offsets=offsets,
            rows=getattr(arguments, "rows", None),
            state=state,
            source_provider=arguments.source_provider,
            verify=arguments.verify,
            in_place=in_place,
        )
        report = None
        if not arguments.json:
            _print_plan(made)
        if not arguments.dry_run:
            report = _waited(made.run, arguments, _keys(made))
        elif arguments.read:
            report = _waited(made.read, arguments, _keys(made))
        if report is not None and not arguments.json:
            _print_report(report, arguments.source)
        files = _files(made, report)
        if arguments.json:
            from bucketstate.cli.terminal.rows import as_json

            told = {
                "plan": made.to_dict(),
                "report": report and report.to_dict(),
                "files": files and files.to_dict(),
            }
            print(as_json(told))
        elif files is not None:
            _print_files(files)
        if files is not None and files.ok is False:
            return EXIT_FOUND
        return EXIT_OK if made.is_possible else EXIT_FAILED


@dataclass(frozen=True)
class _Files:
    """What `bucketstate verify` says of a target that was published. Immutable."""

    ok: bool | None
    """None where this process could not read it."""

    said: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _files(made: Plan, report: Report | None) -> _Files | None:
    """Reads the files of a new checkpoint of ours as a restart would, and holds its logs to them.

    This is by the package's own reader, which none of the move's code is in. It takes a checkpoint
    that is whole, so that it comes after the end; and a process that reaches it, which the cluster
    alone may do: then it says so, and the move is made all the same.
    """
    from bucketstate.checkpoint import Checkpoint
    from bucketstate.cli.terminal import console
    from bucketstate.errors import BucketstateError

    if report is None or not report.published or report.verified != "full":
        return None
    if made.in_place or made.target_provider != "bucketstate":
        return None
    try:
        with console.progress("reading files") as advance:
            found = Checkpoint(report.target).verify(advance)
    except BucketstateError as error:
        told = str(error).partition("\n")[0]
        return _Files(None, f"not done from here, where the files cannot be read: {told}")
    if found.ok:
        return _Files(True, f"{found.files:,} files, sound")
    wrong = [f.what for f in found.findings if f.severity == "error"]
    return _Files(False, f"{' '.join(wrong)} Do not start the query on it.")


def _print_files(files: _Files) -> None:
    from bucketstate.cli.terminal import console

    console.say(f"bucketstate verify: {files.said}", "red" if files.ok is False else "")


def _check_places(arguments: argparse.Namespace, *, in_place: bool) -> None:
    from bucketstate.errors import InvalidArgumentError

    if in_place and arguments.target is not None:
        raise InvalidArgumentError(
            f"--in-place and DST {arguments.target} are given: give one of them."
        )
    if not in_place and arguments.target is None:
        raise InvalidArgumentError("There is no DST: give one, or --in-place.")
    if getattr(arguments, "undo", False):
        if not in_place:
            raise InvalidArgumentError("--undo goes with --in-place, and with nothing else.")
        # Whoever gives another option expects it to count, --dry-run above all.
        others = [
            f"--{name.replace('_', '-')}"
            for name in _OF_A_MOVE
            if not (getattr(arguments, name) is None or getattr(arguments, name) is False)
        ] + (["--verify counts"] if arguments.verify != "full" else [])
        if others:
            raise InvalidArgumentError(
                f"--undo goes with --in-place, --master, --conf and --json alone: leave out "
                f"{', '.join(others)}."
            )
    if arguments.read and not arguments.dry_run:
        raise InvalidArgumentError("--read goes with --dry-run: a move reads all state anyway.")


def _undo(arguments: argparse.Namespace) -> int:
    from bucketstate.move.planning import undo

    with session(arguments) as spark:
        undone = undo(spark, arguments.source)
    if arguments.json:
        from bucketstate.cli.terminal.rows import as_json

        print(as_json({"undone": undone.to_dict()}))
    else:
        print(
            f"{undone.checkpoint}: the rewrite was undone. Batch {undone.batch} is the last one, "
            f"in {undone.partitions} partitions."
        )
    return EXIT_OK


def _state(arguments: argparse.Namespace) -> Any:
    from bucketstate.cli.given import state_of

    text = getattr(arguments, "state", None)
    return None if text is None else state_of(text, "--state")


def _offsets(given: str | None) -> Any:
    from bucketstate.errors import InvalidArgumentError

    if given is None or given == "options":
        return given
    try:
        # Not splitlines: an offset may have U+2028 and others that end a line there.
        lines = Path(given).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InvalidArgumentError(
            f"--offsets {given} is neither 'options' nor a file that can be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"--offsets {given} is no UTF-8 at byte {error.start}: give lines of Spark's offset "
            "log."
        ) from None
    return [line for line in lines if line]


def _waited(
    call: Callable[..., Report], arguments: argparse.Namespace, total: int | None
) -> Report:
    from bucketstate.cli.terminal import console

    if arguments.json:
        return call()
    from bucketstate.cli.steps import StepRates

    rates = StepRates()
    with console.steps() as tell:

        def told(progress: Progress) -> None:
            done = rates.of(progress, time.monotonic())
            tell(done.step, done.keys, total, done.said)

        return call(progress=told)


def _keys(made: Plan) -> int | None:
    """The keys of all stores; None where nobody has counted them."""
    counts = [store.get("keys") for operator in made.operators for store in operator["stores"]]
    known = [n for n in counts if n is not None]
    return sum(known) if len(known) == len(counts) else None


def _print_plan(made: Plan) -> None:
    from bucketstate.cli.terminal import console

    terminal = console.console()
    title = (
        f"{made.kind} of batch {made.batch}, {made.why_batch} (version {made.version}): "
        f"{made.source_provider} to {made.target_provider}{', in place' if made.in_place else ''}"
    )
    rows = []
    for operator in made.operators:
        for number, store in enumerate(operator["stores"]):
            rows.append(
                (
                    operator["id"],
                    operator["name"],
                    store["name"],
                    len(store["families"]),
                    _encoders(store["families"]),
                    store.get("keys", "?"),
                    f"{store['partitionsBefore']} to {store['partitionsAfter']}",
                    _change(store.get("bucketsBefore"), store.get("buckets")),
                    # They are of all stores of the operator.
                    size(operator["bytes"]) if number == 0 else "",
                )
            )
    columns = [
        "#operator",
        "name",
        "store",
        "#families",
        "encoders",
        "#keys",
        "partitions",
        "buckets",
        "#bytes",
    ]
    terminal.print(console.table(title, columns, rows))
    if any("keys" not in store for operator in made.operators for store in operator["stores"]):
        terminal.print("keys that are not counted are unknown until --read")
    terminal.print(
        f"the target takes about {size(made.space)}, and Spark's local disks the state once, "
        "uncompressed",
        soft_wrap=True,
    )
    for key, value in made.session.items():
        terminal.print(f"the query's session needs {key}={value}", markup=False, soft_wrap=True)
    styles = {"error": "red", "warning": "yellow", "info": ""}
    for found in made.findings:
        terminal.print(
            f"{found.severity}: {found.text}",
            style=styles[found.severity],
            markup=False,
            soft_wrap=True,
        )


def _encoders(families: Sequence[Mapping[str, Any]]) -> str:
    """Each encoder once, with how many families it is of if these are several."""
    found = Counter(family["encoder"].removesuffix("StateEncoderSpec") for family in families)
    return ", ".join(name if n == 1 else f"{n} {name}" for name, n in found.items())


def _change(before: int | None, after: int | None) -> str:
    """A number that the source may not have, nor the target."""
    if after is None:
        return ""
    return str(after) if before in (None, after) else f"{before} to {after}"


def _print_report(report: Report, source: str) -> None:
    in_place = report.last_batch != report.batch
    where = f"rewritten as batch {report.last_batch}" if in_place else f"moved to {report.target}"
    done = where if report.published else "read; nothing was written"
    rate = report.keys / report.seconds if report.seconds else 0
    print(
        f"{report.keys:,} keys in {report.seconds:.1f} s ({rate:,.0f} a second) {done}"
        + (f", {size(report.bytes)}" if report.bytes else "")
    )
    if not report.published:
        for store in report.stores:
            print(f"operator {store['operator']}, {store['name']}: {store['keys']:,} keys")
    if report.deleted_keys:
        print(f"{report.deleted_keys:,} keys left out")
    if report.given_keys:
        added = report.given_keys - report.replaced_keys
        print(f"{report.replaced_keys:,} keys replaced, {added:,} added")
    if report.published:
        checked = "read back, and the same" if report.verified == "full" else "counted alone"
        left = "" if in_place else f"; {source} is as it was"
        print(f"verified: {checked}{left}")
        if in_place:
            print("to undo it before the query goes on: the same with --undo")
