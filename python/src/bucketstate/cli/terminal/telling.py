"""What a command tells on standard error while it works: its log, and whom it waits for."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bucketstate.waiting import REQUESTS, Request

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_FORMAT = "%(asctime)s %(name)s: %(message)s"
_PATIENCE = 1.0
"""Seconds after which somebody wants to know what is waited for."""
_AGAIN = 5.0
"""Seconds from one such line to the next."""
_LOOK = 0.2


def tell(line: str) -> None:
    """A line on standard error, as soon as it is told; nowhere where the shell closed it.

    `print` would have it on standard output, among the rows.
    """
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def telling(verbose: int) -> Iterator[None]:
    """While the block runs, the log of that much, and a line where an answer takes long."""
    log = logging.getLogger("bucketstate")
    before, handler = log.level, _Told()
    handler.setFormatter(logging.Formatter(_FORMAT))
    done = threading.Event()
    if verbose:
        log.addHandler(handler)
        log.setLevel(_LEVELS[min(verbose, len(_LEVELS) - 1)])
    threading.Thread(target=_tell_who_is_asked, args=(done,), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        log.removeHandler(handler)
        log.setLevel(before)


class _Told(logging.Handler):
    """Writes to what standard error is when something is told: a progress bar changes it."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(self.format(record))


def _tell_who_is_asked(done: threading.Event) -> None:
    told: Request | None = None
    last = -_AGAIN
    while not done.wait(_LOOK):
        asked, now = REQUESTS.oldest(), REQUESTS.clock()
        if asked is None or asked is told or now - asked.since < _PATIENCE or now - last < _AGAIN:
            continue
        tell(f"bucketstate: asking {asked.what} ...")
        told, last = asked, now
