"""Folders that are written to: by what makes or changes a checkpoint, never by what reads one.

What is told of one is a local file of its own: it is written whole, too.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pyarrow import fs

from bucketstate.checkpoint.format.filesystems import first_line
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.interrupts import undone

_FLAT = ("s3", "gcs", "abfs")
"""File systems that have no folders to be made first."""
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
_CHUNK = 8 << 20


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """The block gets another name to write under, whose file then takes the target's place.

    A block that fails, or that SIGINT ends, leaves the target as it was, and nothing beside it. A
    link is followed; what is not replaceable is written to as it is.
    """
    if not replaceable(target):
        yield target
        return
    real = Path(os.path.realpath(target))
    partial = real.with_name(f".{real.name}.{uuid.uuid4()}.tmp")
    with undone(lambda: partial.unlink(missing_ok=True)):
        try:
            yield partial
            if real.exists():
                # Who may read the one before may read this one, and nobody else.
                shutil.copymode(real, partial)
            partial.replace(real)
        finally:
            partial.unlink(missing_ok=True)


def replaceable(target: Path) -> bool:
    """Whether another file may take its place: not that of a pipe, nor of a device's name."""
    special = not target.is_file() or target.is_relative_to("/dev")
    return not (target.exists() and special)


def first_name(filesystem: fs.FileSystem, path: str) -> str:
    """The name under which to write a file that is not there before it is whole: see `renamed`.

    It is the path itself where a file appears when its stream is closed, or is copied to be moved.
    """
    if not _renames(filesystem):
        return path
    parent, _, leaf = path.rpartition("/")
    # Whoever lists the folder takes what begins with a dot for a write under way.
    return f"{parent}/.{leaf}.{uuid.uuid4()}.tmp"


def sent(filesystem: fs.FileSystem, source: BinaryIO, path: str) -> None:
    """Writes all that is left of the source to that path; what fails may leave a part there."""
    with filesystem.open_output_stream(path) as out:
        shutil.copyfileobj(source, out, _CHUNK)


def renamed(filesystem: fs.FileSystem, hidden: str, path: str) -> None:
    """Gives a whole file its name, and the place of the one that has it.

    What fails is an OSError that says where the file is: the one before it may be gone.
    """
    if hidden == path:
        return
    try:
        if filesystem.get_file_info(path).type != fs.FileType.NotFound:
            filesystem.delete_file(path)
        filesystem.move(hidden, path)
    except Exception as error:
        told = f"{first_line(error)}; it is whole under the name {hidden}"
        raise OSError(told) from error


def _renames(filesystem: fs.FileSystem) -> bool:
    """Whether a file can be seen while it is written, and another name takes no copy of it."""
    if isinstance(filesystem, fs.SubTreeFileSystem):
        return _renames(filesystem.base_fs)
    if not isinstance(filesystem, fs.PyFileSystem):
        return filesystem.type_name in ("hdfs", "local")
    # Those of fsspec copy and delete, unless they have a way of their own, as WebHDFS has.
    of = getattr(filesystem.handler, "fs", None)
    kinds = [k for k in type(of).__mro__ if k.__module__ != "fsspec.spec"]
    return any("mv" in vars(kind) for kind in kinds)


class WritableFolder(Folder):
    """A folder as it is read, and written to. Thread-safe as far as its file system is.

    A file is written whole: under another name first where it could be seen meanwhile and the file
    system renames, elsewhere as the file system has it. It is never written in place, so that what
    is linked to it stays as it is.
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
            else:
                hidden = first_name(self._fs, path)
                try:
                    sent(self._fs, io.BytesIO(data), hidden)
                except BaseException:
                    if hidden != path:
                        with suppress(Exception):
                            self._fs.delete_file(hidden)
                    raise
                renamed(self._fs, hidden, path)

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
