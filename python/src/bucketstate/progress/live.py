"""A live panel of streaming queries in a notebook: an output that is replaced, and no widget."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from bucketstate.optional import needed
from bucketstate.progress.panel import Source, html_of


def in_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    # Where it is one, IPython has been imported.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookPanel:
    """Shows in a cell's output what `Panel` shows on a terminal.

    For a `with` block: it is there from the start to the end of it, and its last state stays. It is
    drawn from the thread that Spark reports progress in; use one panel in one thread otherwise.

    Args:
        source: where its batches come from: a `Recorder`.

    Raises:
        MissingLibraryError: IPython is not installed.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ipython = needed("IPython.display", what="A live panel in a notebook")
        self._handle: Any = None

    def __enter__(self) -> Self:
        self._handle = self._ipython.display(self._drawn(), display_id=True)
        self._source.attach(self)
        self.update()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._source.detach(self)

    def update(self) -> None:
        """Draws what the source has now."""
        if self._handle is not None:
            self._handle.update(self._drawn())

    def _drawn(self) -> Any:
        return self._ipython.HTML(html_of(self._source.newest()))
