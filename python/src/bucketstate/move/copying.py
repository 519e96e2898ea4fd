"""How a file comes from one checkpoint into another: linked, copied by the file system, or read."""

from __future__ import annotations

from threading import Lock
from typing import Literal

from bucketstate.checkpoint.format.storage import Folder, Listed
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.errors import MissingFileError, RefusedMoveError

How = Literal["link", "copy"]


class Copier:
    """Brings files into a checkpoint, and counts them. Thread-safe.

    Args:
        source: the checkpoint that they are from.
        target: the one that they come to.
        how: `link` or `copy`; without, links where both are on a local disk and it lets them.

    Raises:
        RefusedMoveError: links are asked for and cannot be.
    """

    def __init__(self, source: Folder, target: WritableFolder, how: How | None) -> None:
        local = source.is_local and target.is_local
        if how == "link" and not local:
            raise RefusedMoveError(
                f"{target.location} and {source.location} are not both on a local disk, and files "
                "cannot be linked: leave the links out."
            )
        self._insists = how == "link"
        self._links = local and how != "copy"
        self._lock = Lock()
        self.linked = 0
        """How many files are links now."""
        self.unlinked = 0
        """How many files were copied because they could not be linked."""

    def bring(self, file: Listed, source: Folder, target: WritableFolder) -> None:
        """A file of state, which nobody ever writes in place.

        Raises MissingFileError, RefusedMoveError or StorageError.
        """
        try:
            if self._links:
                if target.link(file.name, source):
                    with self._lock:
                        self.linked += 1
                    return
                if self._insists:
                    raise RefusedMoveError(
                        f"{source.path_of(file.name)} cannot be linked into {target.location}: "
                        "they are not on one disk, or it has no links. Leave the links out."
                    )
                with self._lock:
                    self.unlinked += 1
            target.copy(file.name, source)
        except MissingFileError as error:
            raise taken(source.path_of(file.name)) from error


def taken(path: str) -> MissingFileError:
    """A file that was there when it was planned."""
    problem = f"{path} is not there any more."
    return MissingFileError(
        f"{problem} The query runs, and its retention took the file while it was copied: run the "
        "same command again, with a newer batch or without one."
    ).about(path, problem)
