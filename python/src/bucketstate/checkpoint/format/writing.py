"""Folders that are written to: by what makes or changes a checkpoint, never by what reads one."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from bucketstate.checkpoint.format.storage import Folder

_FLAT = ("s3", "gcs", "abfs")
"""File systems that have no folders to be made first."""
_RENAMING = "hdfs"
"""A file system on which a file can be seen while it is written."""
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
_CHUNK = 8 << 20


class WritableFolder(Folder):
    """A folder as it is read, and written to. Thread-safe as far as its file system is.

    A file is written whole: on local disks under another name first, elsewhere as the file system
    has it. It is never written in place, so that what is linked to it stays as it is.
    """

    def make(self) -> None:
        """The folder is there, and those above it."""
        if self._fs.type_name in _FLAT:
            return
        with self._failures("", "made"):
            self._fs.create_dir(self._path, recursive=True)

    def write(self, name: str, data: bytes) -> None:
        """A file in this folder, which is there; it replaces one of that name."""
        path = self._inside(name)
        with self._failures(name, "written"):
            if self.is_local:
                temporary = Path(self._inside(f".{name}.{uuid.uuid4()}.tmp"))
                try:
                    temporary.write_bytes(data)
                    temporary.replace(path)
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise
            elif self._fs.type_name != _RENAMING:
                # It appears when its stream is closed.
                with self._fs.open_output_stream(path) as out:
                    out.write(data)
            else:
                parent, _, leaf = path.rpartition("/")
                # Whoever lists the folder takes what begins with a dot for a write under way.
                hidden = f"{parent}/.{leaf}.{uuid.uuid4()}.tmp"
                try:
                    with self._fs.open_output_stream(hidden) as out:
                        out.write(data)
                    if self.exists(name):
                        self._fs.delete_file(path)
                    self._fs.move(hidden, path)
                except BaseException:
                    with suppress(Exception):
                        self._fs.delete_file(hidden)
                    raise

    def create(self, name: str, data: bytes) -> None:
        """A file in this folder, which is made if need be, that is to be new.

        A name that is taken is a StorageError, as far as that shows before the file is there: two
        who write one name at the same time need names that nobody else takes.
        """
        with self._failures(name, "written"):
            if self.exists(name):
                raise FileExistsError("there is one already")
        self.make()
        self.write(name, data)

    def link(self, name: str, source: Folder) -> bool:
        """The file of that name of another folder, under a second name; False if that cannot be.

        Links are of one local disk.
        """
        if not (self.is_local and source.is_local):
            return False
        with source._failures(name, "linked"):
            try:
                os.link(source._inside(name), self._inside(name))
            except OSError as error:
                if error.errno in _NO_LINKS:
                    return False
                raise
        return True

    def copy(self, name: str, source: Folder) -> None:
        """The file of that name of another folder: by the file system itself, where it can."""
        theirs, own = source._inside(name), self._inside(name)
        with source._failures(name, f"copied to {self.location}"):
            if self.is_local and source.is_local:
                shutil.copyfile(theirs, own)
                return
            if self._fs.equals(source._fs):
                try:
                    self._fs.copy_file(theirs, own)
                    return
                except NotImplementedError:
                    # HDFS has no such request.
                    pass
            with (
                source._fs.open_input_stream(theirs) as read,
                self._fs.open_output_stream(own) as written,
            ):
                while data := read.read(_CHUNK):
                    written.write(data)

    def delete(self, name: str) -> None:
        """The file is not there any more, nor the checksum that Hadoop keeps beside a local one.

        The checksum goes first: with that alone Hadoop cannot write the file again.
        """
        with self._failures(name, "deleted"):
            if self.is_local:
                folder, _, last = self._inside(name).rpartition("/")
                Path(folder, f".{last}.crc").unlink(missing_ok=True)
                Path(folder, last).unlink(missing_ok=True)
                return
            try:
                self._fs.delete_file(self._inside(name))
            except FileNotFoundError:
                return

    def delete_folder(self, name: str) -> None:
        """A folder in this one is not there any more, with all that it held."""
        with self._failures(name, "deleted"):
            try:
                self._fs.delete_dir(self._inside(name))
            except FileNotFoundError:
                return

    def is_within(self, other: Folder) -> bool:
        """Whether it is another folder, or lies in it, as far as names tell."""
        if self.is_local and other.is_local:
            own, theirs = os.path.realpath(self._path), os.path.realpath(other._path)
        elif self._fs.equals(other._fs):
            own, theirs = self._path, other._path
        else:
            return False
        return f"{own.rstrip('/')}/".startswith(f"{theirs.rstrip('/')}/")
