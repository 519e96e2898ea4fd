"""Holds every answer of a query to its model, whichever life of the driver it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.chaos.application import SAID, checkpoints
from tests.chaos.events import SIDES, events
from tests.chaos.models import MODELS, Rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.events import Event


class WrongAnswerError(AssertionError):
    """What a query said is not what it had to say."""


@dataclass
class Checker:
    """Reads the answers of one query as they come.

    A batch is answered again when the driver or a task died behind the answer: each one is checked.
    What a batch has read is taken from its offsets, before Spark deletes them: so `check` is to be
    called at least every few batches.
    """

    root: Path
    query: str
    seed: int
    answers: int = 0
    reached: list[int] = field(default_factory=list)
    """The last file of each source that the batches so far have read."""

    def __post_init__(self) -> None:
        self._model = MODELS[self.query]()
        self._expected: list[Rows] = []
        self._folder = self.root / SAID / self.query
        self._folder.mkdir(parents=True)

    @property
    def batches(self) -> int:
        """How many different batches were answered."""
        return len(self._expected)

    def check(self) -> None:
        """Takes all answers that are there. Raises WrongAnswerError."""
        files = {file: json.loads(file.read_text()) for file in self._folder.glob("*.json")}
        for file, answer in sorted(files.items(), key=lambda found: int(found[1]["batch"])):
            self._check(answer["batch"], answer["rows"])
            self.answers += 1
            file.unlink()

    def _check(self, number: int, rows: Rows) -> None:
        if number > self.batches:
            raise WrongAnswerError(f"{self.query}: batch {number} came before batch {self.batches}")
        if number == self.batches:
            self._expected.append(self._model.batch(*self._read_by(number)))
        if sorted(rows) != self._expected[number]:
            raise WrongAnswerError(
                f"{self.query}: batch {number} (of {self.batches}) says\n  {sorted(rows)}\n"
                f"and has to say\n  {self._expected[number]}"
            )

    def _read_by(self, number: int) -> list[list[Event]]:
        """The events of a batch, by side."""
        log = checkpoints(self.root, self.query)[-1] / "offsets" / str(number)
        _, _, *offsets = log.read_text().splitlines()
        ends = [int(json.loads(offset)["logOffset"]) for offset in offsets]
        before = self.reached or [-1] * len(ends)
        self.reached = ends
        read: list[list[Event]] = [[] for _ in SIDES]
        for side, (name, last, end) in enumerate(zip(SIDES, before, ends, strict=False)):
            for file in range(last + 1, end + 1):
                read[side] += events(self.seed, name, file)
        return read


def outlined(error: str) -> str:
    """The cause of a query's failure: the last one that its text names."""
    causes = [line for line in error.splitlines() if "Caused by:" in line] or error.splitlines()
    return causes[-1].strip()[:300] if causes else "no text"


def is_damage(error: str) -> bool:
    """Whether the store says that what it had written is not there, or not as it was."""
    return any(words in error for words in ("is damaged or not readable", " does not exist: "))


def reports(folder: Path) -> list[dict[str, Any]]:
    """Takes what the application published there."""
    found = []
    for file in folder.glob("*.json"):
        found.append(json.loads(file.read_text()))
        file.unlink()
    return found
