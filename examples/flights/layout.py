"""Where the demo keeps its files. Everything lies below `artifacts/demo`, which git ignores."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "artifacts" / "demo"
INPUT = HOME / "input"
CHECKPOINTS = HOME / "checkpoints"
OUTPUT = HOME / "output"
PROGRESS = HOME / "progress"
PICTURE = HOME / "batches.png"
LOGGING = Path(__file__).with_name("log4j2.properties")
