"""Ctrl-C in a program of ours: it ends at once, by the signal itself, whatever it is blocked in.

Python's own way is an exception in the main thread, which waits until a library of C gives the
thread back, and which turns into others where it comes in the middle of an import. Here the system
ends the process. What has to be put in order before is said by `undone`; temporary folders of
`temporary_folder` go by themselves.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tempfile

CODE = 130
"""What a shell has for a program that Ctrl-C has ended."""

_PATIENCE = 0.2
"""Seconds that the main thread has for it, until another thread does it."""

_LIMIT = 2.0
"""Seconds that what is to be put in order has for it: a file system may not answer."""

_LOOKS = 20
"""How often it is looked for folders that threads are making still."""

_undo: list[Callable[[], None]] = []
_watched: list[_Undoing] = []
_tokens: dict[int, str] = {}
"""By process: one that was forked has its own."""


def end() -> None:
    """Ends the process as SIGINT does, so that a shell's loop over commands ends, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def undone(undo: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Where SIGINT ends the process within the block, this is called before, by another thread.

    Nothing where SIGINT does not end the process: an exception puts things in order there. Nor in a
    thread of a program of others, since signals are the main thread's affair.
    """
    by_default = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    # Elsewhere the system has no such pipe, and ends the process by itself.
    if not _watched and by_default and os.name == "posix":
        _watch()
    _undo.append(undo)
    try:
        yield
    finally:
        _undo.remove(undo)


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with its last reference, and where SIGINT ends the process in `undone`.

    Any thread may make one: it is found again by its name, which tells the process.
    """
    import tempfile

    return tempfile.TemporaryDirectory(prefix=f"{prefix}{_own()}-")


def _own() -> str:
    """What no other process has in names: not by its number alone, which containers share."""
    if os.getpid() not in _tokens:
        _tokens[os.getpid()] = os.urandom(8).hex()
    return f"{os.getpid()}-{_tokens[os.getpid()]}"


def _remove_folders() -> None:
    if os.getpid() not in _tokens:
        return
    import shutil
    import tempfile
    from pathlib import Path

    for _ in range(_LOOKS):
        found = list(Path(tempfile.gettempdir()).glob(f"*-{_own()}-*"))
        if not found:
            return
        for folder in found:
            shutil.rmtree(folder, ignore_errors=True)


class _Undoing:
    """A thread that puts things in order once it is asked to, which any thread may wait for.

    It is there before it is needed: in the midst of a signal no thread can be started safely.
    """

    def __init__(self) -> None:
        import queue
        import threading

        # A signal may come at any moment: these two are safe then.
        self._asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._going_on = threading.Lock()
        self._going_on.acquire()
        threading.Thread(target=self._run, daemon=True).start()

    def done(self) -> None:
        """Returns when all is in order, or the limit has passed."""
        self._asked.put(None)
        if self._going_on.acquire(timeout=_LIMIT):
            self._going_on.release()

    def _run(self) -> None:
        self._asked.get()
        for undo in reversed(_undo):
            # Nobody is left to hear what fails.
            with suppress(Exception):
                undo()
        with suppress(Exception):
            _remove_folders()
        self._going_on.release()


def _watch() -> None:
    import threading

    if threading.current_thread() is not threading.main_thread():
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    undoing = _Undoing()
    _watched.append(undoing)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _ended)
    threading.Thread(target=_end_blocked, args=(read, undoing), daemon=True).start()


def _ended(_number: int, _frame: object) -> None:
    for undoing in _watched:
        undoing.done()
    end()


def _end_blocked(read: int, undoing: _Undoing) -> None:
    """Ends the process where the main thread is in C, and has no time for signals."""
    import time

    while signal.SIGINT not in os.read(read, 64):
        pass
    time.sleep(_PATIENCE)
    undoing.done()
    _end_from_any_thread()


def _end_from_any_thread() -> None:
    """As `end`, which Python's own way leaves to the main thread."""
    import ctypes
    import time

    with suppress(Exception):
        ctypes.pythonapi.PyOS_setsig(ctypes.c_int(signal.SIGINT), ctypes.c_void_p(None))
        os.kill(os.getpid(), signal.SIGINT)
        # Another thread may take the signal, a moment later.
        time.sleep(_PATIENCE)
    os._exit(CODE)
