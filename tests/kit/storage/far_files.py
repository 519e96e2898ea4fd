"""A local folder as a file system that is far away: each request is counted, and may be held up."""

from __future__ import annotations

import io
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class FarFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """What is asked for, by kind (`info`, `list`, `open`, `read`), and how much of it at once.

    `during` is called with the kind and the path while a request is under way. A read gives no more
    bytes than `cut_at`; `largest_read` is how many were asked for at once.
    """

    def __init__(self, during: Callable[[str, str], None] = lambda _kind, _path: None) -> None:
        self.requests: Counter[str] = Counter()
        self.most_at_once = 0
        self.cut_at: int | None = None
        self.largest_read = 0
        self._during = during
        self._under_way = 0
        self._lock = threading.Lock()
        self._local = fs.LocalFileSystem()

    def arrow(self) -> fs.FileSystem:
        return fs.PyFileSystem(self)

    @contextmanager
    def request(self, kind: str, path: str) -> Iterator[None]:
        with self._lock:
            self.requests[kind] += 1
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            self._during(kind, path)
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def get_type_name(self) -> str:
        return "far"

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        with self.request("info", paths[0]):
            return list(self._local.get_file_info(paths))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        with self.request("list", selector.base_dir):
            return list(self._local.get_file_info(selector))

    def open_input_file(self, path: str) -> pa.PythonFile:
        with self.request("open", path):
            return pa.PythonFile(_FarFile(self, path), mode="r")

    def normalize_path(self, path: str) -> str:
        return path

    def open_input_stream(self, path: str) -> Any:
        raise NotImplementedError(path)

    def _only_read(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a checkpoint is only read")

    open_output_stream = open_append_stream = create_dir = delete_dir = _only_read
    delete_dir_contents = delete_root_dir_contents = delete_file = move = copy_file = _only_read


class _FarFile(io.RawIOBase):
    def __init__(self, files: FarFiles, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._file = Path(path).open("rb")  # noqa: SIM115

    def read(self, size: int = -1) -> bytes:
        with self._files.request("read", self._path):
            self._files.largest_read = max(self._files.largest_read, size)
            cut = self._files.cut_at
            return self._file.read(size if cut is None else min(size, cut))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()
