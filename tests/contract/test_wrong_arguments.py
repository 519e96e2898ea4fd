"""Whatever is given to the package's functions, what they raise is the package's.

Of a class only what it is asked with; that a caller leaves out an argument is Python's own error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812

from bucketstate import (
    Conf,
    configure,
    enable,
    jar_path,
    move,
    operations,
    spark_settings,
    stateful,
)
from bucketstate.checkpoint import Checkpoint
from bucketstate.doctor import of_progress, read_progress
from bucketstate.errors import BucketstateError, InvalidArgumentError
from bucketstate.live import Live
from bucketstate.progress import Recorder
from bucketstate.report import write_report
from bucketstate.settings import Settings
from bucketstate.sizing import Workload, reckon
from bucketstate.stateful import ListState, MapState, State, ValueState
from bucketstate.testing import Harness, compare, rows_of
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown

DAY = timedelta(days=1)
WRONG: list[Any] = [
    *[None, "x", "", -1, 0, 1.5, b"x", [], [1], ["x"], {}, {"a": 1}, object(), True, (1, 2)],
    *[float("nan"), float("inf"), 2**70, -(2**70), [("key", "=")], [None], "\udcff", print],
    *[timedelta(days=-1), State],
]
TAKE_OBJECTS = {"attempt", "store_info", "verify", "to_duckdb"}
"""What takes a store, an operator, a function or a connection: no text of a user's."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(grown(tmp_path_factory.mktemp("wrong") / "checkpoint").root)


def methods(of: object) -> Iterator[Callable[..., Any]]:
    for name in dir(of):
        if not name.startswith("_") and name not in TAKE_OBJECTS:
            found = getattr(of, name)
            if callable(found):
                yield found


def raised(call: Callable[[], Any]) -> list[str]:
    """What it raises that is not the package's; one line at most."""
    try:
        call()
    except BucketstateError:
        pass
    except Exception as error:
        return [f"{call!r}: {error!r}"]
    return []


def tried(call: Callable[..., Any], **right: Any) -> list[str]:
    """What it raises that is not the package's, for each argument in turn.

    Arguments that have to be given are texts, or what is right.
    """
    raw = []
    parameters = inspect.signature(call).parameters.values()
    several = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    named = [p for p in parameters if p not in several]
    alone = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    required = [p.name for p in named if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    given = {name: 0 if name in ("operator", "number") else "x" for name in required} | right
    for parameter in [*named, *several]:
        name = "x" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        for wrong in WRONG:
            arguments = given | {name: wrong}
            ahead = [*alone, *(p.name for p in several)]
            first = [arguments.pop(one) for one in ahead if one in arguments]
            raw += raised(partial(_rows_of, partial(call, *first, **arguments)))
    return raw


def _rows_of(call: Callable[[], Any]) -> None:
    found = call()
    if hasattr(found, "to_arrow"):
        found.to_arrow()


def test_a_checkpoint_and_a_scan(checkpoint: Checkpoint) -> None:
    calls = [*methods(checkpoint), *methods(checkpoint.scan())]
    assert len(calls) > 15
    assert [line for call in calls for line in tried(call)] == []


def test_a_live_checkpoint(checkpoint: Checkpoint) -> None:
    with Live(checkpoint) as live:
        calls: list[Callable[..., Any]] = [live.get, live.get_many, live.scan, live.refresh]
        calls += methods(live.get_many([]))
        assert [line for call in calls for line in tried(call)] == []
    assert tried(Live) == []
    assert tried(partial(Live, checkpoint.location)) == []


KEYS: list[T.DataType] = [
    *[T.StringType(), T.BinaryType(), T.FloatType(), T.DoubleType(), T.LongType(), T.DateType()],
    *[T.TimestampType(), T.DecimalType(5, 2), T.ArrayType(T.FloatType()), T.BooleanType()],
    T.StructType().add("a", T.FloatType()),
]


@pytest.mark.parametrize("kind", KEYS, ids=lambda kind: kind.typeName())
def test_keys_of_every_type(tmp_path: Path, kind: T.DataType) -> None:
    built = Built(tmp_path, partitions=1, key=T.StructType().add("k", kind))
    built.batch({})
    checkpoint = Checkpoint(tmp_path)
    far = [1e39, -1e39, 10**12, 10**400, [1e39], (1e39,), Decimal("1e999"), Decimal("NaN")]
    raw = []
    with Live(checkpoint) as live:
        for wrong in [*WRONG[1:], *far, {"k": 1e39}, {"a": 1e39}, [[]], [{}], memoryview(b"x")]:
            raw += raised(partial(checkpoint.scan().get, wrong))
            raw += raised(partial(_rows_of, partial(checkpoint.scan, key=wrong)))
            raw += raised(partial(live.get, wrong))
    assert raw == []


def test_columns_and_filters_of_what_is_no_name(checkpoint: Checkpoint) -> None:
    names: list[Any] = [["a"], {}, {"a"}, bytearray(b"a"), 1, None, ("value", "count")]
    for name in names:
        for kind in ("state", "changes", "diff"):
            for scan in (
                checkpoint.scan(kind, columns=[name]),
                checkpoint.scan(kind, filters=[(name, "=", 1)]),
            ):
                with pytest.raises(InvalidArgumentError, match=r"is not there\. There are: "):
                    scan.to_arrow()
    ways: list[Any] = [["="], {}, None, 1]
    for how in ways:
        with pytest.raises(InvalidArgumentError, match="give tuples of a column, one of"):
            checkpoint.scan(filters=[("key.key", how, 1)]).to_arrow()


def test_what_reads_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    calls: list[Callable[..., Any]] = [Recorder, Recorder.of, Recorder.read, recorder.add]
    calls += [recorder.save, of_progress, read_progress]
    assert [line for call in calls for line in tried(call)] == []


@dataclass
class Total:
    n: int = 0


def count(_key: Any, rows: list[dict[str, Any]], state: State[Total]) -> Total:
    state.value.n += len(rows)
    return state.value


OTHERS = (
    *("apply", "define", "output_schema", "state", "state_schema"),
    *("list_state", "map_state", "value_state"),
)
READY_MADE = [n for n in stateful.__all__ if n[0].islower() and n not in OTHERS]
READY: dict[str, dict[str, Any]] = {
    "rate_limit": {"rows": 1, "per": DAY},
    "sessions": {"gap": DAY},
    "windows": {"length": DAY},
    "top": {"count": 3},
}


def test_stateful_functions() -> None:
    raw = [*tried(stateful.define), *tried(stateful.define, fn=count)]
    raw += tried(stateful.apply, fn=count)
    raw += [line for part in (ListState, MapState, ValueState) for line in tried(part)]
    assert len(READY_MADE) > 10
    for name in (*READY_MADE, *OTHERS[2:]):
        raw += tried(getattr(stateful, name), **READY.get(name, {}))
    raw += tried(stateful.state())
    assert raw == []


def test_ready_made_functions_that_run() -> None:
    schema = "k string, x long, at timestamp"
    rows = [{"k": "a", "x": 1, "at": datetime(2024, 1, 1, tzinfo=UTC)}]

    def run(name: str, **arguments: Any) -> None:
        made = getattr(stateful, name)
        taken = inspect.signature(made).parameters.values()
        alone = [p.name for p in taken if p.kind is p.POSITIONAL_ONLY]
        recipe = made(*[arguments.pop(n) for n in alone], **arguments)
        if isinstance(recipe, stateful.Aggregate):
            recipe = stateful.reduce(y=recipe)
        Harness(recipe, by="k", schema=schema, event_time="at").run(rows)

    raw = []
    for name in READY_MADE:
        parameters = inspect.signature(getattr(stateful, name)).parameters
        named = [n for n in parameters if n != "named"]
        right: dict[str, Any] = {
            n: n if n == "at" else "x" for n in ("at", "by", "column") if n in named
        }
        right |= READY.get(name, {})
        if "aggregates" in named:
            right["aggregates"] = {"n": stateful.count()}
        for parameter in named:
            for wrong in WRONG:
                raw += raised(partial(run, name, **right | {parameter: wrong}))
    assert raw == []


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
def test_the_harness(operator: Any, checkpoint: Checkpoint) -> None:
    def running() -> Harness[Total]:
        made = Harness(count, by="k", operator=operator, timeout="processing")
        made.run([{"k": "a"}])
        return made

    raw = tried(Harness, fn=count, by="k", operator=operator)
    right = {"path": checkpoint.location, "fn": count, "by": "key", "keys": ["a"]}
    raw += tried(partial(Harness.from_checkpoint, operator=operator), **right)
    methods = ["advance", "restarted", "run", "set_state", "state", "timeout", "timers"]
    for name in methods:
        for wrong in WRONG:
            one = running()
            calls = [partial(getattr(one, name), wrong)]
            if name == "set_state":
                calls = [partial(one.set_state, wrong, "a"), partial(one.set_state, Total(), wrong)]
            for call in calls:
                raw += raised(call)
    for name in ("clock", "watermark"):
        for wrong in WRONG:
            raw += raised(partial(setattr, running(), name, wrong))
    assert raw == []


def test_what_helps_tests() -> None:
    raw = tried(compare, fn=count, batches=[], by="k")
    raw += tried(rows_of, row=Total)
    assert raw == []


def test_moves_that_need_no_spark(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw = []
    for source in ("x", checkpoint.location):
        for call in (move.clone, move.fork):
            target = str(tmp_path / f"{call.__name__}-{source == 'x'}")
            raw += tried(call, source=source, target=target)
        raw += tried(move.rewind, checkpoint=source, dry_run=True)
    raw += tried(move.plan, kind="import") + tried(move.undo)
    assert raw == []


def test_a_report(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    raw = tried(write_report)
    for wrong in WRONG[1:]:
        about = partial(write_report, checkpoint, "page.html", state=False)
        raw += raised(partial(about, progress=wrong))
    assert raw == []


def test_sessions_and_operations() -> None:
    raw = [line for call in methods(operations) for line in tried(call)]
    raw += [*tried(configure), *tried(enable), *tried(jar_path), *tried(spark_settings)]
    assert raw == []


def test_settings() -> None:
    raw = tried(Conf)
    for name in inspect.signature(Settings).parameters:
        for wrong in WRONG:
            raw += raised(partial(Conf, **{name: wrong}))
    raw += [line for call in methods(Conf()) for line in tried(call)]
    assert raw == []


def test_opening_a_checkpoint_and_reckoning() -> None:
    def reckoned(**given: Any) -> Any:
        return reckon(Workload(**{"keys": 1, "record_bytes": 1, "updates": 1} | given))

    assert tried(Checkpoint) == []
    for name in inspect.signature(Workload).parameters:
        for wrong in WRONG:
            with suppress(BucketstateError):
                reckoned(**{name: wrong})
