"""Where the demos keep their files. Everything lies below `artifacts`, which git ignores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INPUT = ROOT / "artifacts" / "demo" / "input"
PARTITIONS = 2
LOGGING = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True)
class Layout:
    """The files of one demo; the input is that of all."""

    name: str
    stage: str = "checkpoints"
    """The folder of its checkpoints, of which a demo that moves them has several."""

    @property
    def home(self) -> Path:
        return ROOT / "artifacts" / self.name

    @property
    def checkpoints(self) -> Path:
        return self.home / self.stage

    @property
    def output(self) -> Path:
        return self.home / "output"

    @property
    def progress(self) -> Path:
        return self.home / "progress"

    def progress_of(self, query: str) -> Path:
        """What Spark reported of a query's batches: its JSON, one a line."""
        return self.progress / f"{query}.jsonl"

    @property
    def picture(self) -> Path:
        return self.home / "batches.png"

    def report_of(self, query: str) -> Path:
        return self.home / f"report-{query}.html"
