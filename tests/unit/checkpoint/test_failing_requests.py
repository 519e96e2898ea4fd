"""A file system that fails a request of a reader, each in turn: told, or nothing differs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.checkpoint.overview import Overview
from bucketstate.errors import StorageError
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint import test_state, test_variables

Ask = Callable[[str, Any], Any]


def _scan(path: str, system: Any, version: int | None = None) -> Any:
    checkpoint = Checkpoint(path, system)
    name = "plain" if checkpoint.overview(version).operators[0].state_variables else None
    return checkpoint.scan(version=version, state_var=name).to_arrow()


def _overview(path: str, system: Any) -> Overview:
    """What a store that cannot be read says of itself is an error here."""
    found = Checkpoint(path, system).overview()
    for operator in found.operators:
        for store in operator.stores:
            if store.problem is not None:
                raise StorageError(store.problem)
    return found


ASKED: dict[str, Ask] = {
    "verify": lambda path, system: Checkpoint(path, system).verify(),
    "overview": _overview,
    "history": lambda path, system: Checkpoint(path, system).history(),
    "scan": _scan,
    "older": lambda path, system: _scan(path, system, 1),
    "savepoints": lambda path, system: savepoints.listed(path, filesystem=system),
}


class Failing:
    """Refuses the request of a number, from 1 on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = 0
        self._lock = threading.Lock()

    def __call__(self, _kind: str, path: str) -> None:
        with self._lock:
            self.count += 1
            refused = self.count == self.number
        if refused:
            raise PermissionError(13, "Permission denied", path)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("grown", ["keys", "variables"])
def test_what_could_not_be_read_is_never_taken_for_damage(
    tmp_path: Path, grown: str, ask: Ask
) -> None:
    if grown == "keys":
        test_state.grown(tmp_path, batches=3).snapshot(2, files=1)
    else:
        test_variables.grown(tmp_path)
    savepoints.create(tmp_path, "held")
    good = ask(str(tmp_path), FarFiles().arrow())
    refused = 0
    for number in itertools.count(1):
        failing = Failing(number)
        try:
            found = ask(str(tmp_path), FarFiles(failing).arrow())
        except StorageError:
            refused += 1
        else:
            assert found == good, number
        if failing.count < number:
            break
    assert refused > 0
