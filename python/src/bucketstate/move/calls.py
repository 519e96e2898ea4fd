"""Calls of the JVM's side, which makes the moves: its errors, and how one is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
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
_ANSWERS = ("Trace:", "does not exist in the JVM")
"""What py4j's errors have where a JVM that is there has refused a call."""
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
    from py4j.protocol import Py4JError

    while not done.done():
        # Once more each time: a move or a job that was about to begin has not heard of it.
        with suppress(Py4JError, OSError):
            # A JVM that has ended hears nothing; the call ends with it.
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
        if error is None or isinstance(error, BucketstateError):
            # Spark Connect alone has no py4j, and is refused by one of these.
            return
        from py4j.protocol import Py4JError

        if _is_end(error):
            raise _ended(error) from error
        try:
            own, said = _said(error)
        except (Py4JError, ConnectionError) as end:
            # It ended before it had said what went wrong.
            raise _ended(end) from end
        if own is not None:
            raise own(str(said)) from None
        if said is None:
            return
        raise StorageError(
            f"The move failed: {said}. Nothing was published; the same move begins again, and "
            "Spark's log has more about it."
        ) from error


def first_line(error: BaseException) -> str:
    """What an error says, in a line: of Java's, the one that the others are wrapped around."""
    from py4j.protocol import Py4JJavaError

    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while (inner := cause.getCause()) is not None:
            cause = inner
        return str(cause.toString()).partition("\n")[0]
    return str(error).partition("\n")[0]


def _said(error: BaseException) -> tuple[type[BucketstateError] | None, str | None]:
    """What the JVM says of an error of its own, and which error of this package that is."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        own = _ERRORS.get(cause.getClass().getSimpleName())
        return own, str(cause.toString() if own is None else cause.getMessage())
    return None, str(error) if isinstance(error, PySparkException) else None


def _is_end(error: BaseException) -> bool:
    """Whether an error is what py4j raises where the JVM has ended."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
        return not any(answer in str(error) for answer in _ANSWERS)
    return isinstance(error, ConnectionError)


def _ended(error: BaseException) -> StorageError:
    """The error of a move whose JVM has ended: nobody is left to say whether it was published."""
    return StorageError(
        f"The session's JVM has ended ({first_line(error)}), and how far the move had come is not "
        "known. Make a new session, and run the same move again. Where it was one in place, "
        "_bucketstate/in-place.json is there until it is finished or undone."
    )
