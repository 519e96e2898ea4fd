"""Where the demos keep their files. Everything lies below `artifacts`, which git ignores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INPUT = ROOT / "artifacts" / "demo" / "input"
LOGGING = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True)
class Layout:
    """The files of one demo; the input is that of all."""

    name: str

    @property
    def home(self) -> Path:
        return ROOT / "artifacts" / self.name

    @property
    def checkpoints(self) -> Path:
        return self.home / "checkpoints"

    @property
    def output(self) -> Path:
        return self.home / "output"

    @property
    def progress(self) -> Path:
        return self.home / "progress"

    @property
    def picture(self) -> Path:
        return self.home / "batches.png"
