"""What is said of a JVM that ends under a move, and that it is waited for no longer."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

from bucketstate.cli import main, session
from bucketstate.errors import (
    InvalidArgumentError,
    MissingFileError,
    SessionError,
    StorageError,
)
from bucketstate.move import Plan, plan, undo
from bucketstate.move.calls import told, waited

ENDED = [
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(104, "Connection reset by peer"),
    Py4JError("An error occurred while calling o38.run"),
    Py4JNetworkError("Answer from Java side is empty"),
]


def refused(*_: object) -> NoReturn:
    """What py4j makes of a call of a JVM that is not there."""
    raise ConnectionRefusedError(111, "Connection refused")


class Ended:
    """A session, a door or a plan in a JVM that has ended: nothing can be asked of it."""

    _jsparkSession = None  # noqa: N815

    @property
    def _jvm(self) -> Ended:
        return self

    def __getattr__(self, name: str) -> NoReturn:
        refused(name)


class JavaError(Py4JJavaError):  # type: ignore[misc]
    """An error of Java's, of which is known what is given here."""

    def __init__(self, **answers: Any) -> None:
        super().__init__("An error occurred.", SimpleNamespace(_target_id="o1", **answers))


def planned(jvm: Any) -> Plan:
    return Plan(
        kind="import",
        source="source",
        target="target",
        in_place=False,
        batch=1,
        why_batch="the last one",
        version=2,
        source_provider="hdfs",
        target_provider="bucketstate",
        partitions=1,
        checkpoint_format=1,
        operators=(),
        space=0,
        session={},
        findings=(),
        _spark=None,
        _plan=jvm,
    )


@pytest.mark.parametrize("error", ENDED, ids=lambda error: type(error).__name__)
def test_a_jvm_that_has_ended(error: Exception) -> None:
    with pytest.raises(StorageError, match=r"^The session's JVM has ended") as raised, told():
        raise error
    said = str(raised.value)
    assert str(error) in said
    assert "run the same move again" in said
    assert "_bucketstate/in-place.json" in said
    # It may have been, just before.
    assert "published" not in said
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "said",
    [
        "An error occurred while calling o1.f. Trace:\npy4j.Py4JException: There is no f\n",
        "io.bucketstate.Checkpoints.f does not exist in the JVM",
    ],
)
def test_a_jvm_that_refuses_a_call_has_not_ended(said: str) -> None:
    with pytest.raises(Py4JError) as raised, told():
        raise Py4JError(said)
    assert str(raised.value) == said


def test_an_error_of_java_is_told_as_long_as_somebody_is_there_to_tell_it() -> None:
    named = SimpleNamespace(getSimpleName=lambda: "MissingException")
    with pytest.raises(MissingFileError, match=r"^x is not there$"), told():
        raise JavaError(getClass=lambda: named, getMessage=lambda: "x is not there")
    with pytest.raises(StorageError, match=r"^The session's JVM has ended"), told():
        raise JavaError(getClass=refused)


def test_whoever_asks_how_far_it_is_learns_first_that_the_jvm_has_ended() -> None:
    heard = threading.Event()
    cancels = 0

    def call() -> NoReturn:
        assert heard.wait(60)
        raise Py4JError("An error occurred while calling o38.run")

    def cancel() -> NoReturn:
        nonlocal cancels
        cancels += 1
        if cancels == 3:
            heard.set()
        refused()

    move = SimpleNamespace(run=call, cancel=cancel, progressJson=refused)
    with pytest.raises(StorageError, match=r"^The session's JVM has ended") as raised:
        planned(move).run(progress=lambda _: None)
    (note,) = raised.value.__notes__
    assert note.startswith("The session's JVM has ended (An error occurred while calling o38.run)")


def test_a_move_whose_jvm_ends_is_told_so_without_anybody_who_asks() -> None:
    def call() -> NoReturn:
        raise Py4JError("An error occurred while calling o38.run")

    with pytest.raises(StorageError, match=r"^The session's JVM has ended"):
        planned(SimpleNamespace(run=call, cancel=refused)).run()


def test_what_is_raised_by_whoever_is_told_stays_as_it_is() -> None:
    """A progress that is sent somewhere may be refused there: the JVM has nothing to do with it."""
    given_up = threading.Event()
    progress = '{"step": "copy", "read": 0, "written": 0, "checked": 0, "bytes": 0}'
    move = SimpleNamespace(
        run=lambda: given_up.wait(60), cancel=given_up.set, progressJson=lambda: progress
    )
    with pytest.raises(ConnectionRefusedError, match="Connection refused"):
        planned(move).run(progress=refused)


def test_a_call_that_ends_well_ends_well() -> None:
    assert waited(lambda: 5, lambda: None, refused) == 5


def test_moves_are_planned_and_undone_in_a_jvm_that_is_there() -> None:
    spark: Any = Ended()
    with pytest.raises(StorageError, match=r"^The session's JVM has ended"):
        plan(spark, "source", "target", "import")
    with pytest.raises(StorageError, match=r"^The session's JVM has ended"):
        undo(spark, "source")


def test_where_sources_begin_is_said_by_a_word_or_by_lines() -> None:
    """The word promises no offset: what the sources' own options say may be the latest one."""
    spark: Any = Ended()
    with pytest.raises(InvalidArgumentError, match="give 'options', or a list of lines"):
        plan(spark, "source", "target", "handover", offsets="earliest")
    with pytest.raises(StorageError, match=r"^The session's JVM has ended"):
        plan(spark, "source", "target", "handover", offsets="options")


def test_a_session_without_a_jvm_is_refused_without_py4j(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of Spark Connect, as it is installed by itself, has none."""
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    spark: Any = SimpleNamespace()
    with pytest.raises(SessionError, match="not a classic session"):
        plan(spark, "source", "target", "import")
    with pytest.raises(SessionError, match="not a classic session"):
        undo(spark, "source")


def test_the_command_says_that_its_jvm_has_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(session, "_started", lambda _: Ended())
    assert main(["move", "import", "source", "target"]) == 1
    assert capsys.readouterr().err.startswith("bucketstate: The session's JVM has ended (")
