"""What is noticed of a document that an older class wrote, while it is read.

A codec knows neither which document a value is of nor its version, and seldom has something to
say. So it leaves that here, and whoever reads documents takes it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Renamed(NamedTuple):
    """A class that lacks fields which are stored, and has others which are not."""

    owner: str
    gone: str
    new: str


class Noticed(threading.local):
    """What was noticed in one thread and not yet taken."""

    older = False
    """Whether the class of today would write something else than what was read."""

    def __init__(self) -> None:
        self._renamed: set[Renamed] = set()

    def names(self, owner: str, stored: Mapping[str, object], names: Sequence[str]) -> None:
        """Notices the names of a class's fields that are stored, which differ from today's."""
        self.older = True
        gone, new = stored.keys() - set(names), set(names) - stored.keys()
        if gone and new:
            self._renamed.add(Renamed(owner, ", ".join(sorted(gone)), ", ".join(sorted(new))))

    def take(self) -> list[Renamed]:
        """The classes whose fields seem renamed. It begins anew."""
        found = sorted(self._renamed)
        self._renamed.clear()
        self.older = False
        return found


NOTICED = Noticed()
