"""What Spark reports of queries while they run: kept, drawn, shown live, exported."""

from bucketstate.progress.live import NotebookPanel
from bucketstate.progress.panel import Panel
from bucketstate.progress.recorder import Recorder
from bucketstate.progress.rows import PHASE, Progress

__all__ = ["PHASE", "NotebookPanel", "Panel", "Progress", "Recorder"]
