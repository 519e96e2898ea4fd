"""Whatever is given to the readers of checkpoints and progress, what they raise is the package's.

Of a class only what it is asked with; that a caller leaves out an argument is Python's own error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.doctor import of_progress, read_progress
from bucketstate.errors import BucketstateError
from bucketstate.live import Live
from bucketstate.progress import Recorder
from bucketstate.sizing import Workload, reckon
from tests.unit.checkpoint.test_state import grown

WRONG: list[Any] = [
    *[None, "x", "", -1, 0, 1.5, b"x", [], [1], ["x"], {}, {"a": 1}, object(), True, (1, 2)],
    *[float("nan"), float("inf"), 2**70, -(2**70), [("key", "=")], [None], "\udcff", print],
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


def tried(call: Callable[..., Any]) -> list[str]:
    """What it raises that is not the package's, for each argument in turn."""
    raw = []
    parameters = inspect.signature(call).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in named:
        required = [p.name for p in named if p.default is p.empty]
        given = {name: 0 if name in ("operator", "number") else "x" for name in required}
        for wrong in WRONG:
            try:
                found = call(**given | {parameter.name: wrong})
                if hasattr(found, "to_arrow"):
                    found.to_arrow()
            except BucketstateError:
                pass
            except Exception as error:
                raw.append(f"{call!r}({parameter.name}={wrong!r}): {error!r}")
    return raw


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


def test_what_reads_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = Recorder()
    calls: list[Callable[..., Any]] = [Recorder, Recorder.of, Recorder.read, recorder.add]
    calls += [recorder.save, of_progress, read_progress]
    assert [line for call in calls for line in tried(call)] == []


def test_opening_a_checkpoint_and_reckoning() -> None:
    def reckoned(**given: Any) -> Any:
        return reckon(Workload(**{"keys": 1, "record_bytes": 1, "updates": 1} | given))

    assert tried(Checkpoint) == []
    for name in inspect.signature(Workload).parameters:
        for wrong in WRONG:
            with suppress(BucketstateError):
                reckoned(**{name: wrong})
