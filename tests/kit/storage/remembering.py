"""A file system of fsspec that keeps what it has listed, as those of object stores do."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

if TYPE_CHECKING:
    from pathlib import Path


class Remembering(MemoryFileSystem):  # type: ignore[misc]
    """Files in memory, of one test alone. `forgotten` counts how often listings were given up.

    Unless it is `timed` it tells of no file when it was written.
    """

    protocol = "remembering"
    cachable = False
    # By way of listings, too: those of files in memory look at the files.
    find, isfile = AbstractFileSystem.find, AbstractFileSystem.isfile

    def __init__(self, *, timed: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.timed = timed
        self.store: dict[str, MemoryFile] = {}
        self.pseudo_dirs = [""]
        self.forgotten = 0

    def take(self, folder: Path, at: str) -> None:
        """The files of a local folder, as another process writes them: nothing is told of them."""
        for file in folder.rglob("*"):
            if file.is_file():
                name = f"{at}/{file.relative_to(folder).as_posix()}"
                self.store[name] = MemoryFile(self, name, file.read_bytes())

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        found = self.dircache.get(path)
        if found is None:
            found = self.dircache[path] = [self._told(i) for i in super().ls(path, detail=True)]
        return list(found) if detail else sorted(info["name"] for info in found)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        listed = self.dircache.get(self._parent(path))
        found: list[dict[str, Any]] = (
            [self._told(super().info(path))]
            if listed is None
            else [info for info in listed if info["name"] == path]
        )
        if not found:
            raise FileNotFoundError(path)
        return found[0]

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        return {name: info[name] for name in info if self.timed or name != "created"}

    def invalidate_cache(self, path: str | None = None) -> None:
        self.forgotten += 1
        self.dircache.clear()
        super().invalidate_cache(path)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        file = super()._open(path, mode, **options)
        # Each reader has a place in the file of its own.
        return io.BytesIO(file.getvalue()) if mode == "rb" else file
