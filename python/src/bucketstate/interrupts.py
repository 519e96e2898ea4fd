"""Ctrl-C in a program of ours: it ends at once, by the signal itself, whatever it is blocked in.

Python's own way is an exception in the main thread, which waits until a library of C gives the
thread back, and which turns into others where it comes in the middle of an import. Here the system
ends the process. What has to be put in order before is said by `undone`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CODE = 130
"""What a shell has for a program that Ctrl-C has ended."""

_PATIENCE = 0.5
"""Seconds that the main thread has for it, until another thread does it."""

_undo: list[Callable[[], None]] = []
_watched: list[int] = []


def end() -> None:
    """Ends the process as SIGINT does, so that a shell's loop over commands ends, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def undone(undo: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Where SIGINT ends the process within the block, this is called before.

    Perhaps by another thread. Nothing where SIGINT does not end the process: an exception puts
    things in order there.
    """
    if not _watched and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        _watch()
    _undo.append(undo)
    try:
        yield
    finally:
        _undo.remove(undo)


def _watch() -> None:
    import threading

    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _ended)
    _watched.append(read)
    threading.Thread(target=_end_blocked, args=(read,), daemon=True).start()


def _ended(_number: int, _frame: object) -> None:
    _undo_all()
    end()


def _end_blocked(read: int) -> None:
    """Ends the process where the main thread is in C, and has no time for signals."""
    import time

    while signal.SIGINT not in os.read(read, 64):
        pass
    time.sleep(_PATIENCE)
    _undo_all()
    os._exit(CODE)


def _undo_all() -> None:
    for undo in reversed(_undo):
        # Nobody is left to hear what fails.
        with suppress(Exception):
            undo()
