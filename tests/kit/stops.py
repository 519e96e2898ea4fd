"""A process that ends, or a file system that fails, at a chosen write."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any

from bucketstate.checkpoint.format.writing import WritableFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

WRITES = ("make", "write", "link", "copy", "delete", "delete_folder")
"""All that changes anything, as the methods of a folder that is written to."""


class Stopped(BaseException):
    """Not an error: nobody catches it, as nobody catches SIGKILL."""


class Writes:
    """Counts writes, and from the one of that number on lets none happen: they raise instead."""

    def __init__(self, at: int | None = None, error: Callable[[], BaseException] = Stopped) -> None:
        self.count = 0
        self._at = at
        self._error = error
        self._lock = threading.Lock()

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in WRITES:
            patch.setattr(WritableFolder, name, self._counted(getattr(WritableFolder, name)))

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            with self._lock:
                self.count += 1
                if self._at is not None and self.count > self._at:
                    raise self._error()
            return method(*arguments)

        return counted


def tree(root: Path) -> dict[str, str]:
    """What is in a folder, by the names of the files."""
    files = [p for p in sorted(root.rglob("*")) if p.is_file()]
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
