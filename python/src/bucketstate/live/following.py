"""Which version is the newest that was committed, and what is done when that is another one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from bucketstate.checkpoint.format.storage import Folder, Stamp
from bucketstate.checkpoint.selection import Selection
from bucketstate.errors import MissingFileError, NoSuchStateError, NotACheckpointError
from bucketstate.live.held import Held
from bucketstate.live.view import View

_log = logging.getLogger("bucketstate.live")


class Follower:
    """Has a view of the newest committed version. Not thread-safe.

    A look asks for two files by name: the commit of the version that is known, and the next one.
    That the first is as it was says that the checkpoint is the same one, that there is none of the
    second says that nothing is newer. Where a file system tells no times, commits of one number are
    alike: then a look also reads how the batch was planned.

    Args:
        folder: the checkpoint's.
        selection: what is asked for.
        memory: bytes of what is indexed.
        max_age: seconds from one look to the next.
        clock: seconds, from whenever.
    """

    def __init__(
        self,
        folder: Folder,
        selection: Selection,
        memory: int,
        max_age: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._selection = selection
        self._memory = memory
        self._max_age = max_age
        self._clock = clock
        self._held = Held(memory)
        self._view: View | None = None
        self._stamp: Stamp | None = None
        self._plan: bytes | None = None
        self._looked = 0.0

    @property
    def lock(self) -> threading.RLock:
        """Around whatever is asked of it, and of its views."""
        return self._held.lock

    @property
    def known(self) -> View | None:
        """The view of the last look."""
        return self._view

    def view(self) -> View:
        """The view of the newest version that the last look has found, or that this one finds.

        Raises NotACheckpointError where the checkpoint is gone, and NoSuchStateError where its
        newest version is an older one than before.
        """
        if self._view is not None and self._clock() - self._looked < self._max_age:
            return self._view
        return self._look(back=False)

    def refreshed(self) -> View:
        """As `view`, but looks now, and takes an older version, too."""
        return self._look(back=True)

    def anew(self) -> View:
        """A view that takes nothing over, for when a file is not what it was. Raises as `view`."""
        self._held.close()
        return self._take(self._made(), self._clock(), back=False)

    def _look(self, *, back: bool) -> View:
        began, view = self._clock(), self._view
        if view is None or not self._is_newest(view):
            return self._take(self._made(), began, back=back)
        self._looked = began
        return view

    def _is_newest(self, view: View) -> bool:
        # A commit that went while the version was read says that it was taken back.
        if view.batch is not None and self._stamp is None:
            return False
        if self._folder.stamps(_names(view)) != [self._stamp, None]:
            return False
        return self._plan_of(view) == self._plan

    def _plan_of(self, view: View) -> bytes | None:
        """What Spark planned the batch as; None where the stamp of its commit says enough.

        A plan has the time of its batch. Two histories of a query have others, where their commits
        of one number may be the same to the byte.
        """
        if view.batch is None or self._stamp is None or self._stamp.changed is not None:
            return None
        try:
            return self._folder.read(f"offsets/{view.batch}")
        except MissingFileError:
            return b""

    def close(self) -> None:
        """Gives up all files, and ends its views."""
        with self.lock:
            self._held.ended = True
            self._held.close()

    def _take(self, made: View, began: float, *, back: bool) -> View:
        known = self._view
        if known is not None and made.version < known.version:
            if not back:
                raise NoSuchStateError(
                    f"{self._folder.location} was read at version {known.version} (batch "
                    f"{known.batch}), which its commit log does not have any more: the newest is "
                    f"version {made.version}. It was taken back to an earlier batch, or another "
                    "query began there. Call refresh() to go on with what is there."
                )
            self._held.close()
        self._stamp = self._folder.stamps(_names(made)[:1])[0]
        self._plan = self._plan_of(made)
        self._view, self._looked = made, began
        _log.debug("%s: version %d is the newest", self._folder.location, made.version)
        return made

    def _made(self) -> View:
        try:
            return View(self._folder, self._selection, self._memory, self._held)
        except NotACheckpointError as error:
            known = self._view
            if known is None:
                raise
            raise NotACheckpointError(
                f"{self._folder.location} is no checkpoint any more: it was deleted or moved after "
                f"version {known.version} was read. Start the query again, or give the place where "
                f"its checkpoint is now. ({error})"
            ) from error


def _names(view: View) -> list[str]:
    """What is there as long as the version is the newest one, and what is not."""
    if view.batch is None:
        return ["offsets", "commits/0"]
    return [f"commits/{view.batch}", f"commits/{view.batch + 1}"]
