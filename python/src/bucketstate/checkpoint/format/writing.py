"""The little that is ever written into a checkpoint, whatever file system it is on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from bucketstate.checkpoint.format.filesystems import first_line
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import StorageError

_WHOLE_WHEN_CLOSED = ("s3", "gcs")
"""File systems on which a file appears when its stream is closed; others are given a rename."""


def create(folder: Folder, name: str, data: bytes) -> None:
    """Writes a file that is to be new: it appears whole under its name, or not at all.

    A name that is taken is refused, as far as that shows before the file is there: two who write
    one name at the same time need names that nobody else takes.

    Raises:
        StorageError: it could not be written, or there is one of that name.
    """
    files = folder._fs
    with _writing(folder, name):
        if folder.exists(name):
            raise FileExistsError("there is one already")
        target = folder._inside(name)
        if files.type_name in _WHOLE_WHEN_CLOSED:
            with files.open_output_stream(target) as out:
                out.write(data)
            return
        parent, _, leaf = target.rpartition("/")
        # Whoever lists the folder takes what begins with a dot for a write under way.
        temporary = f"{parent}/.{leaf}.{uuid4()}.tmp"
        files.create_dir(parent, recursive=True)
        try:
            with files.open_output_stream(temporary) as out:
                out.write(data)
            files.move(temporary, target)
        except BaseException:
            with suppress(Exception):
                files.delete_file(temporary)
            raise


def remove(folder: Folder, name: str) -> None:
    """Removes a file, if it is there.

    Raises:
        StorageError: it could not be removed.
    """
    with _writing(folder, name), suppress(FileNotFoundError):
        folder._fs.delete_file(folder._inside(name))


@contextmanager
def _writing(folder: Folder, name: str) -> Iterator[None]:
    path = folder.path_of(name)
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        # Others than pyarrow's raise what their libraries do, which have no error in common.
        raise StorageError(
            f"{path} cannot be written or removed: {first_line(error)}. Check that these "
            "credentials may write to the checkpoint, and that there is room."
        ) from error
