"""The commands that look into a checkpoint. Each prints, and returns the exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint import Checkpoint, Overview, Report
from bucketstate.checkpoint.conditions import columns_of, filters_of
from bucketstate.checkpoint.format.family import summed
from bucketstate.checkpoint.spark.query import DEFAULT_STORE
from bucketstate.cli.export import standard_output, streamed
from bucketstate.cli.given import MORE, key_arguments, limit_of, state_of
from bucketstate.cli.savepoint import held_table
from bucketstate.cli.targets import writing
from bucketstate.cli.terminal import console
from bucketstate.cli.terminal.output import while_read
from bucketstate.cli.terminal.rows import as_json, as_text, flat_paths, records
from bucketstate.cli.terminal.tables import (
    by_bucket,
    print_buckets,
    print_expiry,
    print_residency,
    print_restarts,
    print_stores,
    print_sums,
    print_variables,
)
from bucketstate.cli.terminal.telling import tell
from bucketstate.cli.terminal.unfolding import VARIABLE, is_kept, paths_of, unfolded
from bucketstate.cli.terminal.usage import (
    EXIT_FOUND,
    EXIT_OK,
    OF_STANDARD_OUTPUT,
    STANDARD_OUTPUT,
    TABLES,
)
from bucketstate.errors import InvalidArgumentError
from bucketstate.units import size

Command = Callable[[argparse.Namespace], int]

NO_KEY: Mapping[str, Any] = MappingProxyType({})


def inspect(arguments: argparse.Namespace) -> int:
    checkpoint = Checkpoint(arguments.checkpoint)
    found = checkpoint.overview(arguments.version, batch=arguments.batch)
    buckets = by_bucket(checkpoint, found, found.version) if arguments.buckets else None
    if arguments.json:
        extra = {} if buckets is None else {"buckets": buckets}
        print(as_json(asdict(found) | extra))
    else:
        _print_overview(found, internal=arguments.internal, verbose=arguments.verbose > 0)
        if buckets is not None:
            print_buckets(buckets)
    broken = not all(operator.is_whole for operator in found.operators)
    return EXIT_FOUND if broken or not found.starts or found.unheld else EXIT_OK


def show(arguments: argparse.Namespace) -> int:
    checkpoint = Checkpoint(arguments.checkpoint)
    parts = _choose_states(checkpoint, arguments)
    given = key_arguments(checkpoint, arguments)
    title = "timers" if arguments.timers else "state"
    if arguments.history:
        title = "history of a key"
        if arguments.version is not None or arguments.batch is not None:
            raise InvalidArgumentError(
                "--history is of all versions: leave out --version and --batch."
            )
        given["kind"] = "history"
    reader = _rows(checkpoint, arguments, given)
    unfold = not arguments.stored and is_kept(reader.schema)
    left_out = 0
    if arguments.history and (limit := limit_of(arguments)):
        table = reader.read_all()
        left_out = max(0, table.num_rows - limit)
        reader = table.slice(left_out).to_reader()
    _print_rows(reader, arguments, title, unfold=unfold)
    if left_out:
        tell(f"... and {left_out} older: --limit 0 shows all")
    if parts and not arguments.json:
        print(f"beside it --state-var shows its parts: {', '.join(parts)}")
    return EXIT_OK


def diff(arguments: argparse.Namespace) -> int:
    checkpoint = Checkpoint(arguments.checkpoint)
    newer = checkpoint.version_at(arguments.version, arguments.batch)
    older = max(0, newer - 1) if arguments.since is None else arguments.since
    if arguments.since_batch is not None:
        older = checkpoint.version_at(batch=arguments.since_batch)
    decode = state_of(arguments.decode) if arguments.decode else None
    places = _selection(arguments) | {"version": newer, "batch": None, "since": older}
    reader = checkpoint.scan("diff", decode=decode, **places).to_arrow_batch_reader()
    found = _print_rows(reader, arguments, f"version {older} to {newer}")
    return EXIT_FOUND if found and arguments.exit_code else EXIT_OK


def export(arguments: argparse.Namespace) -> int:
    checkpoint = Checkpoint(arguments.checkpoint)
    if arguments.output == STANDARD_OUTPUT and arguments.format not in TABLES:
        format_ = arguments.format or OF_STANDARD_OUTPUT
        sink = standard_output()
        streamed(_rows(checkpoint, arguments), sink, format_)
        return EXIT_OK
    target = arguments.output
    write = writing(target, arguments.format, overwrite=arguments.overwrite)
    reader = _rows(checkpoint, arguments)
    try:
        if arguments.json:
            written = write(reader, lambda _: None)
        else:
            total = _total(checkpoint, arguments)
            with console.progress(f"writing {Path(target).name}") as advance:
                written = write(reader, lambda done: advance(done, total))
    except BrokenPipeError:
        # The target is a pipe, and its reader has enough.
        return EXIT_OK
    if arguments.json:
        print(as_json({"output": target, "rows": written}))
    else:
        print(f"{written:,} rows in {target}")
    return EXIT_OK


def verify(arguments: argparse.Namespace) -> int:
    checkpoint = Checkpoint(arguments.checkpoint)
    if arguments.json:
        report = checkpoint.verify()
        print(as_json(report.to_dict()))
    else:
        with console.progress("reading files") as advance:
            report = checkpoint.verify(advance)
        _print_report(report, verbose=arguments.verbose > 0)
    return EXIT_OK if report.ok else EXIT_FOUND


COMMANDS: dict[str, Command] = {
    "inspect": inspect,
    "show": show,
    "export": export,
    "verify": verify,
    "diff": diff,
}


def _selection(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "operator": arguments.operator,
        "partition": arguments.partition,
        "version": getattr(arguments, "version", None),
        "batch": getattr(arguments, "batch", None),
        "column_family": arguments.column_family,
        "store": arguments.store,
        "state_var": arguments.state_var,
    }


def _rows(
    checkpoint: Checkpoint, arguments: argparse.Namespace, key: Mapping[str, Any] = NO_KEY
) -> pa.RecordBatchReader:
    """What is asked for of the state: timers, a state variable, or a column family."""
    decode = None
    if arguments.decode:
        if arguments.times or arguments.store != DEFAULT_STORE or not arguments.flatten:
            raise InvalidArgumentError(
                "--decode has the columns of states: leave out --times, --store and --no-flatten."
            )
        decode = state_of(arguments.decode)
    elif not arguments.flatten and not arguments.state_var:
        raise InvalidArgumentError("--no-flatten is of a list or a map: give --state-var, too.")
    how: dict[str, Any] = {
        "times": arguments.times,
        "flatten": arguments.flatten,
        "decode": decode,
        **_selection(arguments),
        **key,
    }
    if arguments.timers:
        how |= {"kind": "timers", "store": DEFAULT_STORE, "flatten": True}
    scan = checkpoint.scan(**how)
    if arguments.where is not None:
        scan = scan.update(filters=filters_of(arguments.where, scan.schema))
    if arguments.columns is not None:
        scan = scan.update(columns=columns_of(arguments.columns))
    return scan.to_arrow_batch_reader()


def _total(checkpoint: Checkpoint, arguments: argparse.Namespace) -> int | None:
    """How many rows there will be; None if that shows when they are read."""
    if arguments.where is not None:
        return None
    selection = _selection(arguments)
    version = checkpoint.version_at(selection["version"], selection["batch"])
    family = selection["column_family"] or "default"
    if arguments.timers:
        family = checkpoint.timers_family(selection["operator"], version)
    elif arguments.decode and checkpoint.operator_at(selection["operator"], version).transform:
        from bucketstate.checkpoint.source import DOCUMENTS

        family = DOCUMENTS
    elif selection["state_var"]:
        family = selection["state_var"]
        kind = checkpoint.state_variable(family, selection["operator"], version).kind
        if kind == ("list" if arguments.flatten else "map"):
            return None
    return summed(
        f.keys
        for operator in checkpoint.overview(version).operators
        for store in operator.stores
        for f in store.families
        if operator.id == selection["operator"]
        and store.store == selection["store"]
        and selection["partition"] in (None, store.partition)
        and f.name == family
    )


def _choose_states(checkpoint: Checkpoint, arguments: argparse.Namespace) -> list[str]:
    """Asks for the states of a function on transformWithState, where nothing else is asked for.

    Returns the state variables beside them.
    """
    if arguments.timers or arguments.state_var or arguments.column_family or arguments.decode:
        return []
    version = checkpoint.version_at(arguments.version, arguments.batch)
    of = checkpoint.operator_at(arguments.operator, version).state_variables
    names = [variable.name for variable in of]
    if (VARIABLE, "value") not in [(variable.name, variable.kind) for variable in of]:
        return []
    arguments.state_var = VARIABLE
    return [name for name in names if name != VARIABLE]


def _print_rows(
    reader: pa.RecordBatchReader,
    arguments: argparse.Namespace,
    title: str,
    *,
    unfold: bool = False,
) -> int:
    """Rows up to the limit; how many were printed."""
    limit = limit_of(arguments)
    # With the one after, which says that there are more.
    found = _limited(reader, limit + 1 if limit else None)
    if unfold:
        found = unfolded(found)
    more = MORE.format(limit)
    if arguments.json:
        printed = 0
        for row in while_read(found):
            if limit and printed == limit:
                # Standard output is rows alone.
                tell(more)
                break
            print(as_json(row))
            printed += 1
        return printed
    every = list(found)
    paths = list(paths_of(reader.schema, every) if unfold else flat_paths(reader.schema))
    rows = [[as_text(_inside(row, path)) for path in paths] for row in every]
    shown = rows[:limit] if limit else rows
    console.show(title, [".".join(path) for path in paths], shown)
    if len(rows) > len(shown):
        print(more)
    elif not rows:
        print("no rows")
    return len(rows)


def _limited(reader: pa.RecordBatchReader, limit: int | None) -> Iterator[dict[str, Any]]:
    left = limit
    for batch in reader:
        part = batch if left is None else batch.slice(0, left)
        yield from records(part)
        if left is not None:
            left -= part.num_rows
            if left <= 0:
                return


def _inside(row: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = row
    for name in path:
        # A state that was written by other code may lack a field.
        value = None if value is None else value.get(name)
    return value


def _print_overview(found: Overview, *, internal: bool, verbose: bool) -> None:
    # Before anything is told, whether there can be tables.
    terminal = console.console()
    console.say(found.location, "bold")
    last = "none yet" if found.last_batch is None else found.last_batch
    versions = f"{found.versions[0]} to {found.versions[-1]}" if found.versions else "none"
    console.say(f"last committed batch {last}, versions in Spark's log: {versions}")
    if found.open_batch is not None:
        console.say(f"batch {found.open_batch} was planned and not committed")
    if found.copied:
        console.say(found.copied, "red" if found.original_gone else "yellow")
    if found.unfinished:
        console.say(found.unfinished, "red")
    if found.half_done:
        console.say(found.half_done, "red")
    elif found.origin:
        console.say(found.origin.summary)
    if found.unheld:
        console.say(found.unheld, "red")
    if found.savepoints:
        terminal.print(held_table(found.savepoints))
    print_sums(found)
    for operator in found.operators:
        if verbose:
            print_stores(operator, found.version)
        for s in operator.stores:
            for remark in [*s.skipped, *s.replaced, *([s.problem] if s.problem else [])]:
                of = f"operator {operator.id}, partition {s.partition}, {s.store}"
                console.say(
                    f"{of}: {'' if remark is not s.problem else 'cannot be read: '}{remark}"
                )
        print_variables(operator, internal=internal)
        if verbose:
            print_residency(operator)
        print_expiry(operator, verbose=verbose)


def _print_report(report: Report, *, verbose: bool) -> None:
    styles = {"error": "red", "warning": "yellow", "note": "dim"}
    notes = [f for f in report.findings if f.severity == "note"]
    for finding in report.findings:
        if finding.severity == "note" and not verbose:
            continue
        where = "" if finding.path in finding.what else f"{finding.path}: "
        console.say(f"{finding.severity}: {where}{finding.what}", styles[finding.severity])
    for restart in report.restarts:
        if verbose or restart.failure:
            console.say(restart.summary)
    if not verbose:
        print_restarts(report.restarts)
        if notes:
            console.say(f"notes of what harms nothing: {len(notes):,}, which --verbose tells")
    verdict = "sound" if report.ok else "DAMAGED"
    console.say(
        f"{report.location} is {verdict}: {report.files:,} files ({size(report.bytes)}), "
        f"{report.versions:,} versions can be read"
    )
