"""What a state's size costs each call on `applyInPandasWithState`, in plain Python.

    python python/bench/state_size.py [--entries 10 100 1000 10000] [--calls 30]

One key, one row per call, which changes one entry. Measured are the bytes that the state takes as
it is stored, for each entry, and the processor time of a call, of which most is to read and write
all of the state: the median over the calls. Spark's own share of a call is in `stateful_cost.py`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bucketstate.stateful import ListState, MapState, State, define, map_state
from bucketstate.testing import Harness


@dataclass
class Numbers:
    kept: list[int] = field(default_factory=list)


@dataclass
class Counts:
    kept: dict[str, int] = field(default_factory=dict)


@dataclass
class Log:
    kept: ListState[int] = field(default_factory=ListState)


@dataclass
class Marks:
    kept: MapState[str, int] = field(default_factory=MapState)


@dataclass
class Fading:
    kept: MapState[str, int] = map_state(ttl=timedelta(days=1))


def numbers(_key: Any, _rows: list[dict[str, Any]], state: State[Numbers]) -> None:
    state.value.kept[0] += 1


def counts(_key: Any, _rows: list[dict[str, Any]], state: State[Counts]) -> None:
    state.value.kept["k0"] += 1


def log(_key: Any, _rows: list[dict[str, Any]], state: State[Log]) -> None:
    values = [*state.value.kept.get()]
    state.value.kept.put([values[0] + 1, *values[1:]])


def marks(_key: Any, _rows: list[dict[str, Any]], state: State[Any]) -> None:
    kept = state.value.kept
    kept.updateValue("k0", kept.getValue("k0") + 1)


FORMS: dict[str, tuple[Any, Any]] = {
    "list[int]": (numbers, lambda n: Numbers([*range(n)])),
    "dict[str, int]": (counts, lambda n: Counts({f"k{i}": i for i in range(n)})),
    "ListState[int]": (log, lambda n: Log(ListState(range(n)))),
    "MapState[str, int]": (
        define(marks, state=Marks),
        lambda n: Marks(MapState({f"k{i}": i for i in range(n)})),
    ),
    "MapState[str, int] with a ttl": (
        define(marks, state=Fading),
        lambda n: Fading(MapState({f"k{i}": i for i in range(n)})),
    ),
}


def measure(form: str, entries: int, calls: int) -> tuple[float, float]:
    """Bytes per entry, and milliseconds of processor time per call."""
    function, made = FORMS[form]
    running = Harness(function, by="key", schema="key string")
    running.set_state(made(entries), "a")
    spent = []
    for _ in range(calls):
        before = time.process_time()
        running.run([{"key": "a"}])
        spent.append(time.process_time() - before)
    (kept,) = running._stored.kept().values()
    assert kept.text is not None
    return len(kept.text.encode()) / entries, statistics.median(spent) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--entries", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--calls", type=int, default=30)
    options = parser.parse_args()
    print(f"{'':30}{'entries':>10}{'B an entry':>12}{'ms a call':>12}")
    for form in FORMS:
        for entries in options.entries:
            size, millis = measure(form, entries, options.calls)
            print(f"{form:30}{entries:10}{size:12.1f}{millis:12.2f}")


if __name__ == "__main__":
    main()
