"""`make demo`: streams a year of flights, stops half-way, goes on in a new process, and checks."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time

from rich.console import Console

from flights import data, hourly, layout, rotations

HALF_WAY = 23
TITLES = {
    hourly.NAME: "hourly: delays per airport (windowed aggregation)",
    rotations.NAME: "rotations: each aircraft's (applyInPandasWithState)",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="flights", description=__doc__)
    parser.add_argument("--part", type=int, choices=(1, 2), help=argparse.SUPPRESS)
    part: int | None = parser.parse_args().part
    # In a log there is no width to ask for.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    match part:
        case 1:
            return _first_part(console)
        case 2:
            return _second_part(console)
    return _whole(console)


def _whole(console: Console) -> int:
    started = time.monotonic()
    for folder in (layout.CHECKPOINTS, layout.OUTPUT, layout.PROGRESS):
        shutil.rmtree(folder, ignore_errors=True)
    console.print(f"Input: {data.FLIGHTS:,} flights of 2013 in {data.SLICES} files")
    data.prepare(layout.INPUT)
    for part in (1, 2):
        # Each part is a process of its own: the second knows only what the checkpoints hold.
        code = subprocess.run([sys.executable, "-m", "flights", "--part", str(part)]).returncode
        if code != 0:
            return code
    console.print(f"Done in {time.monotonic() - started:.0f} s")
    return 0


def _first_part(console: Console) -> int:
    from flights import stream

    console.print(f"First process: each query fails in batch {HALF_WAY}, its state just written")
    stream.run(stream.session(), console, part=1, stop_in=HALF_WAY)
    return 0


def _second_part(console: Console) -> int:
    from flights import check, picture, report, stream

    console.print("Second process: restarts from the checkpoints and finishes the year")
    spark = stream.session()
    stream.run(spark, console, part=2, stop_in=None)
    comparisons = check.compare_all(spark)
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
    runs = [report.load(name) for name in TITLES]
    console.print(report.most_delayed_table(stream.emitted(spark, rotations.NAME)))
    console.print(report.state_store_table(runs))
    picture.draw(runs, TITLES, layout.PICTURE)
    console.print(f"Picture: {layout.PICTURE.relative_to(layout.ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
