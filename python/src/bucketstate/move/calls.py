"""Calls of the JVM's side, which makes the moves: its errors, and how one is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bucketstate.errors import (
    BucketstateError,
    DamagedFileError,
    MissingFileError,
    RefusedMoveError,
    SessionError,
    StorageError,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DOOR = "io.bucketstate.Checkpoints"
_ERRORS: Mapping[str, type[BucketstateError]] = {
    "InvalidException": RefusedMoveError,
    "ConflictException": RefusedMoveError,
    "CorruptException": DamagedFileError,
    "MissingException": MissingFileError,
    "UnavailableException": StorageError,
}
"""The five kinds of failure of the JVM's side."""
_POLL_SECONDS = 0.2
_AGAIN_SECONDS = 0.02


def door(spark: SparkSession) -> Any:
    """The JVM's side. Raises SessionError for a session that has none, or has no jar of ours."""
    if not hasattr(spark, "_jsparkSession"):
        raise SessionError(
            "This is not a classic session with a JVM of its own. Moves are made by one: use "
            "`bucketstate.configure` in a process that starts its own Spark, or the command."
        )
    jvm = spark._jvm
    assert jvm is not None
    door = getattr(jvm, _DOOR)
    if not hasattr(door, "plan"):
        raise SessionError(
            "This session has no jar of bucketstate: make it with `bucketstate.configure`."
        )
    return door


def waited(call: Callable[[], Any], tell: Callable[[], None], cancel: Callable[[], Any]) -> Any:
    """What a long call returns; an interrupt, or what `tell` raises, gives it up.

    That is raised when the call has ended, with a note of how.

    Args:
        call: of the JVM, made by another thread.
        tell: called every now and then while it goes on.
        cancel: gives up what the call has begun; of no effect before it has begun.
    """
    with _interrupts_of_its_own(), ThreadPoolExecutor(1) as pool:
        done = pool.submit(call)
        try:
            while not done.done():
                tell()
                wait([done], _POLL_SECONDS)
        except BaseException as error:
            error.add_note(_given_up(done, cancel))
            raise
        with told():
            return done.result()


def _given_up(done: Future[Any], cancel: Callable[[], Any]) -> str:
    """Waits for the end of what nobody waits for any more, and says what that was."""
    while not done.done():
        # Once more each time: a move or a job that was about to begin has not heard of it.
        cancel()
        wait([done], _AGAIN_SECONDS)
    try:
        with told():
            done.result()
    except BucketstateError as failure:
        return str(failure)
    return "It came too late: the move was made all the same."


@contextmanager
def _interrupts_of_its_own() -> Iterator[None]:
    """Keeps an interrupt to the move: PySpark's handler cancels the jobs of all queries first."""
    before = signal.getsignal(signal.SIGINT)
    is_sparks = str(getattr(before, "__module__", "")).startswith("pyspark.")
    # No other thread is interrupted, or may say what happens then.
    if not is_sparks or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class told:  # noqa: N801 - read as a word of a with statement
    """Errors of the JVM in this package's own words."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        if isinstance(error, Py4JJavaError):
            cause = error.java_exception
            kind = _ERRORS.get(cause.getClass().getSimpleName())
            if kind is not None:
                raise kind(str(cause.getMessage())) from None
            said = str(cause.toString())
        elif isinstance(error, PySparkException):
            said = str(error)
        else:
            return
        raise StorageError(
            f"The move failed: {said}. Nothing was published; the same move begins again, and "
            "Spark's log has more about it."
        ) from error
