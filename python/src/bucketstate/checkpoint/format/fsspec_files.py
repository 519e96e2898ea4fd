"""File systems of fsspec as pyarrow's, with answers that are of now, or errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyarrow import fs

_CHANGED = {
    "mtime": 1,
    # Of HDFS, by way of WebHDFS.
    "modificationTime": 1000,
    # Of object stores.
    "LastModified": 1,
    "last_modified": 1,
    # Of files in memory, which are written as a whole.
    "created": 1,
}
"""Names by which file systems tell when a file was changed, and how many of that are a second."""


class FsspecFiles(fs.FSSpecHandler):  # type: ignore[misc]
    """What a file system of fsspec says when it is asked, not what it has said before.

    Those of object stores keep what they have listed for as long as they live, and fsspec has one
    object for all who give the same URI: without being told to forget, it never shows what a query
    has written since. And what fails is an error: pyarrow's own handler takes a listing that fails
    for an empty folder, and a file that nobody could ask for is not there to it.
    """

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        self.fs.invalidate_cache()
        return list(super().get_file_info(paths))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        self.fs.invalidate_cache()
        found: list[fs.FileInfo] = []
        folders = [selector.base_dir]
        while folders:
            folder = folders.pop()
            try:
                inside = self._listed(folder)
            except FileNotFoundError:
                # One within it may have been deleted since it was listed.
                if folder == selector.base_dir and not selector.allow_not_found:
                    raise
                continue
            found += inside
            if selector.recursive:
                folders += [i.path for i in inside if i.type == fs.FileType.Directory]
        return found

    def open_input_file(self, path: str) -> pa.PythonFile:
        self._require(path)
        return pa.PythonFile(self.fs.open(path, mode="rb"), mode="r")

    open_input_stream = open_input_file

    def delete_file(self, path: str) -> None:
        self._require(path)
        self.fs.rm(path)

    def delete_dir(self, path: str) -> None:
        self.fs.invalidate_cache()
        super().delete_dir(path)

    @staticmethod
    def _create_file_info(path: str, info: Mapping[str, Any]) -> fs.FileInfo:
        """As pyarrow has it, which knows the time of those alone that call it `mtime`."""
        timed = {**info, "mtime": _changed(info)}
        return fs.FSSpecHandler._create_file_info(path, timed)

    def _listed(self, folder: str) -> list[fs.FileInfo]:
        """What is in a folder. Some list the folder itself, too, and a file as what is in it."""
        infos: list[dict[str, Any]] = self.fs.ls(folder, detail=True)
        own = folder.strip("/")
        inside = [info for info in infos if info["name"].strip("/") != own]
        return [self._create_file_info(info["name"].rstrip("/"), info) for info in inside]

    def _require(self, path: str) -> None:
        """The file is there, or what the file system says is raised."""
        self.fs.invalidate_cache()
        if self.fs.info(path)["type"] == "directory":
            raise IsADirectoryError(f"{path} is a folder")


def _changed(info: Mapping[str, Any]) -> float | None:
    """When a file was changed, in seconds since 1970; None where that is not told as a time."""
    for name, unit in _CHANGED.items():
        told = info.get(name)
        if isinstance(told, datetime):
            return told.timestamp()
        if isinstance(told, int | float):
            return told / unit
    return None
