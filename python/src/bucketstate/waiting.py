"""What far file systems were asked and have not answered yet, for those that wait for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

_log = logging.getLogger("bucketstate.checkpoint")


class Request(NamedTuple):
    """What is asked, and when it was by the clock."""

    what: str
    since: float


class Requests:
    """Those that are under way. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._under_way: dict[object, Request] = {}

    @contextmanager
    def asking(self, what: str) -> Iterator[None]:
        """Around one request; logged with the time that it took."""
        token, request = object(), Request(what, self.clock())
        self._under_way[token] = request
        try:
            yield
        finally:
            del self._under_way[token]
            _log.debug("asked %s for %.3f s", what, self.clock() - request.since)

    def oldest(self) -> Request | None:
        """The one that has waited for longest; None where nothing is asked."""
        # Copied at once: other threads go on.
        return min(list(self._under_way.values()), key=lambda one: one.since, default=None)


REQUESTS = Requests()
"""All of this process."""
