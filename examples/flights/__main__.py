"""`make demo` and `make demo-tws`: a year of flights, stopped half-way, resumed, and checked."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyspark
from rich.console import Console

from bucketstate.report import write_report
from flights import data, layout
from flights.demos import DEMOS, Demo

HALF_WAY = 23
_TALK = (
    # Spark's, which prints a paragraph with each of the steps in which it starts a query.
    "Streaming TransformWithStateInPandas Python worker",
    # Java's, of a module that Spark adds to every JVM.
    "WARNING: Using incubator modules: jdk.incubator.vector",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="flights", description=__doc__)
    parser.add_argument("--part", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    parser.add_argument("demo", nargs="?", choices=DEMOS, default="demo")
    options = parser.parse_args()
    part: int | None = options.part
    demo = DEMOS[options.demo]
    # In a log there is no width to ask for.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    match part:
        case 1:
            return _first_part(console, demo)
        case 2:
            return _second_part(console, demo)
    return whole(console, demo)


def whole(console: Console, demo: Demo, spark: str = pyspark.__version__) -> int:
    """The demo in two processes, unless this version of Spark cannot run it."""
    refusal = demo.refusal(spark)
    if refusal is not None:
        console.print(refusal, markup=False, soft_wrap=True)
        return 1
    started = time.monotonic()
    for folder in (demo.layout.checkpoints, demo.layout.output, demo.layout.progress):
        shutil.rmtree(folder, ignore_errors=True)
    console.print(f"Input: {data.FLIGHTS:,} flights of 2013 in {data.SLICES} files")
    with console.status("Writing them, once"):
        data.prepare(layout.INPUT)
    for part in (1, 2):
        # Each part is a process of its own: the second knows only what the checkpoints hold.
        command = [sys.executable, "-m", "flights", demo.layout.name, "--part", str(part)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None  # it is a pipe
            for line in process.stderr:
                if line.strip() and not any(talk in line for talk in _TALK):
                    sys.stderr.write(line)
        if process.returncode != 0:
            return process.returncode
    console.print(f"Done in {time.monotonic() - started:.0f} s")
    return 0


def _first_part(console: Console, demo: Demo) -> int:
    from flights import stream

    console.print(f"First process: each query fails in batch {HALF_WAY}, its state just written")
    with console.status("Starting Spark"):
        spark = stream.session()
    stream.run(spark, console, demo.layout, demo.queries, stop_in=HALF_WAY)
    return 0


def _second_part(console: Console, demo: Demo) -> int:
    from flights import picture, runs, stream
    from flights.state_table import state_store_table

    console.print("Second process: restarts from the checkpoints and finishes the year")
    with console.status("Starting Spark"):
        spark = stream.session()
    stream.run(spark, console, demo.layout, demo.queries, stop_in=None)
    with console.status("Comparing every row with one batch query"):
        comparisons = demo.compare(spark, demo.layout)
    for c in comparisons:
        if c.equal:
            console.print(f"[green]equal[/]: {c.name}, {c.rows:,} rows as one batch query has them")
        else:
            console.print(
                f"[red]DIFFERENT[/]: {c.name}, of {c.rows:,} rows {c.missing:,} are missing "
                f"and {c.unexpected:,} were not expected; the first are:"
            )
            console.print("" if c.first is None else c.first.to_string(index=False), soft_wrap=True)
    if not all(c.equal for c in comparisons):
        return 1
    console.print(demo.table(spark, demo.layout))
    ran = [runs.load(demo.layout, name) for name in demo.queries]
    console.print(state_store_table(ran))
    if demo.ways is not None:
        with console.status("Running the rotations both ways"):
            table = demo.ways(spark)
        if table is not None:
            console.print(table)
    picture.draw(ran, demo.title, demo.titles, demo.layout.picture)
    console.print(f"Picture: {_below_root(demo.layout.picture)}")
    return _report(console, demo)


def _report(console: Console, demo: Demo) -> int:
    """A page about each query's checkpoint, as `bucketstate report` makes it."""
    files = demo.layout
    with console.status("Reading the checkpoints for their reports"):
        pages = [
            write_report(
                files.checkpoints / name,
                files.report_of(name),
                progress=files.progress_of(name),
            )
            for name in demo.queries
        ]
    console.print(f"Reports: {', '.join(_below_root(page.output) for page in pages)}")
    damaged = [_below_root(page.output) for page in pages if not page.ok]
    if damaged:
        console.print(f"[red]A checkpoint is damaged[/]: see {', '.join(damaged)}")
    return 1 if damaged else 0


def _below_root(file: Path) -> str:
    return str(file.relative_to(layout.ROOT))


if __name__ == "__main__":
    raise SystemExit(main())
