"""A file system of its own that is soon full, and can be made read-only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted `tmpfs` at `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, leave: int = 0) -> None:
        """Takes all the room that is left, but for so many bytes, until `empty`."""
        with self._filler.open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                filler.truncate(max(0, filler.tell() - leave))

    def empty(self) -> None:
        self._filler.unlink()

    def read_only(self) -> None:
        """Fails while a file is open for writing there."""
        self._remount("ro")

    def writable(self) -> None:
        self._remount("rw")

    @property
    def _filler(self) -> Path:
        return self.folder / ".of others"

    def _remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.folder)], check=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mounts one of that size, such as `8m`, and skips the test for who may not mount."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("A disk that is full takes the command `mount`, which is not here.")
    if mounted.returncode:
        pytest.skip(f"A disk that is full takes the right to mount one: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        # Also while a file is open on it.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
