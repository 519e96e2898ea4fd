"""One function on both operators, in plain Python; that Spark answers alike is an integration
test."""

from __future__ import annotations

import copy
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.group_ops import PandasGroupedOpsMixin

from bucketstate import EXTENSION_CLASS, PLUGIN_CLASS, PROVIDER_CLASS, stateful
from bucketstate.errors import MissingLibraryError, SessionError
from bucketstate.stateful import (
    DefinitionError,
    ListState,
    MapState,
    MigrationError,
    State,
    StateUsageError,
    ValueState,
    WrongTypeError,
)
from bucketstate.stateful.codec.ddl import parse_ddl
from bucketstate.stateful.run import operators
from bucketstate.testing import Harness
from tests.kit.cases import examples
from tests.kit.scripted_parts import OPERATIONS, Scripted, Step
from tests.kit.stateful import Out, Total

if TYPE_CHECKING:
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator

OPERATORS: tuple[Operator, ...] = ("applyInPandasWithState", "transformWithState")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::bucketstate.stateful.FirstWatermarkWarning"),
]

START = datetime(2024, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("timeout", ["event", "processing"])
def test_both_operators_answer_alike(timeout: Timeout) -> None:
    @seed(14)
    @settings(database=None, max_examples=examples(12))
    @given(st.integers(0, 2**32))
    def run(number: int) -> None:
        chance = random.Random(number)
        function = Scripted(timeout == "event")
        both = [
            Harness(
                stateful.define(function, state=function.state),
                by="key",
                operator=operator,
                schema=Step,
                timeout=timeout,
                event_time="at",
                delay=timedelta(minutes=20),
                time_zone="America/New_York",
            )
            for operator in OPERATORS
        ]
        for batch in range(6):
            rows = [
                Step(
                    START + timedelta(minutes=45 * batch + chance.randrange(-90, 45)),
                    chance.choice(["a", "b", None]),
                    seq,
                    chance.choice(OPERATIONS),
                    chance.randrange(120),
                )
                for seq in range(chance.choice([0, 8, 20]))
            ]
            if batch == 3:
                both = [running.restarted() for running in both]
            # A batch at the very moment of a timer or of an expiry is one of the cases.
            step = chance.choice([timedelta(milliseconds=n) for n in (2, 3)] + [timedelta(hours=9)])
            answers = []
            for running in both:
                running.advance(step)
                answers.append(sorted(map(repr, running.run(rows))))
            assert answers[0] == answers[1]
            assert seen(both[0], function) == seen(both[1], function)

    run()


def seen(running: Harness, function: Scripted) -> dict[Any, Any]:
    return {
        key: (v.total, v.seen, function.parts(v), running.timers(*key), running.timeout(*key))
        for key, v in running.states().items()
    }


def step(act: Any, state: Any, operator: Operator = "transformWithState", **options: Any) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: Any) -> None:
        act(state)

    return Harness(stateful.define(fn, state=state), by="key", operator=operator, **options)


ROW = [{"key": "a"}]


@dataclass
class Parts:
    n: int = 0
    last: ValueState[list[int]] = field(default_factory=ValueState)
    log: ListState[int] = field(default_factory=ListState)
    by_name: MapState[str, int] = field(default_factory=MapState)
    by_price: MapState[Decimal, int] = field(default_factory=MapState)
    by_size: MapState[float, int] = field(default_factory=MapState)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda p: p.log.appendValue("x"), "field log[0] of Parts is str 'x', expected an int"),
        (lambda p: p.log.appendList([1, "x"]), "expected an int of 64 bits"),
        (lambda p: p.last.update([1, None]), "of Parts is None, expected an int"),
        (lambda p: p.by_name.updateValue(3, 3), "of Parts is int 3, expected a str"),
        (lambda p: p.by_name.updateValue("k", "v"), "of Parts is str 'v', expected an int"),
        (lambda p: p.by_size.updateValue(float("nan"), 1), "expected a key that is equal to it"),
        (lambda p: setattr(p, "log", [1]), "field log of Parts is list [1], expected a ListState"),
    ],
)
def test_a_value_that_does_not_fit_a_part_names_the_key_and_the_field(
    operator: Operator, act: Any, told: str
) -> None:
    running = step(lambda state: act(state.value), Parts, operator)
    with pytest.raises(WrongTypeError) as refusal:
        running.run(ROW)
    if "[0]" in told and operator == "transformWithState":
        # An append does not know how many there are.
        told = told.replace("[0]", "")
    assert "The state of Key(key='a')" in str(refusal.value)
    assert told in str(refusal.value)
    assert running.states() == {}


@pytest.mark.parametrize("operator", OPERATORS)
def test_keys_that_are_equal_are_one_entry(operator: Operator) -> None:
    def act(state: State[Parts]) -> None:
        prices, sizes = state.value.by_price, state.value.by_size
        for price in ("1.5", "1.50", "100", "1E+2"):
            prices.updateValue(Decimal(price), (prices.getValue(Decimal(price)) or 0) + 1)
        for size in (0.0, -0.0):
            sizes.updateValue(size, (sizes.getValue(size) or 0) + 1)

    running = step(act, Parts, operator)
    running.run(ROW)
    running.run(ROW)
    held = running.state("a")
    assert dict(held.by_price.iterator()) == {Decimal("1.5"): 4, Decimal(100): 4}
    assert dict(held.by_size.iterator()) == {0.0: 4}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.getValue(1),
        lambda m: m.containsKey(1),
        lambda m: m.removeKey(1),
        lambda m: m.updateValue(1, 1),
        lambda m: 1 in m,
        lambda m: m[1],
        lambda m: m.__delitem__(1),
        lambda m: m.getValue([]),
        lambda m: m.getValue(None),
        lambda m: m.getValue("\udcff"),
    ],
)
def test_a_key_of_another_type_is_refused_wherever_it_is_given(
    operator: Operator, ask: Any
) -> None:
    running = step(lambda state: ask(state.value.by_name), Parts, operator)
    with pytest.raises(
        WrongTypeError, match=r"The state of Key\(key='a'\): field by_name of Parts"
    ):
        running.run(ROW)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "before",
    [
        lambda state: state.value.by_name,
        lambda state: state.update(Parts(by_name=MapState({"b": 2}))),
        lambda state: state.clear(),
    ],
)
def test_so_it_is_in_a_state_of_any_origin(operator: Operator, before: Any) -> None:
    def act(state: State[Parts]) -> None:
        before(state)
        state.value.by_name.getValue(1)  # type: ignore[arg-type]

    running = step(act, Parts, operator)
    running.set_state(Parts(by_name=MapState({"a": 1})), "a")
    with pytest.raises(WrongTypeError, match=r"field by_name of Parts is int 1, expected a str"):
        running.run(ROW)


def test_a_copy_of_a_map_is_the_function_s_own() -> None:
    def act(state: State[Parts]) -> None:
        state.value.by_name.updateValue("a", 1)
        for copied in (copy.deepcopy(state.value.by_name), copy.copy(state.value.by_name)):
            assert copied == state.value.by_name
            assert not copied.containsKey(1)  # type: ignore[arg-type]

    step(act, Parts, "applyInPandasWithState").run(ROW)


@pytest.mark.parametrize("operator", OPERATORS)
def test_parts_are_used_as_python_s_own(operator: Operator) -> None:
    def act(state: State[Parts]) -> None:
        marks = state.value.by_name
        assert "a" not in marks
        for use in (marks.__getitem__, marks.__delitem__):
            with pytest.raises(KeyError, match="'a'"):
                use("a")
        marks["a"] = 1
        marks["b"] = marks["a"] + 1
        assert ("a" in marks, marks["b"], sorted(marks), len(marks)) == (True, 2, ["a", "b"], 2)
        assert dict(marks) == {"a": 1, "b": 2}
        del marks["a"]
        state.value.log.appendList([1, 2])
        assert [*state.value.log] == [1, 2]
        assert 2 in state.value.log

    running = step(act, Parts, operator)
    running.run(ROW)
    assert running.state("a") == Parts(by_name=MapState({"b": 2}), log=ListState([1, 2]))


@dataclass
class LogOfTexts:
    log: ListState[str]


@dataclass
class LogOfNumbers:
    log: ListState[int]


def test_a_state_variable_that_the_class_cannot_take_any_more_is_a_clear_error() -> None:
    def read(_key: Any, _rows: Any, state: State[LogOfNumbers]) -> None:
        list(state.value.log.get())

    running = step(lambda s: s.value.log.appendValue("x"), LogOfTexts)
    running.run(ROW)
    with pytest.raises(MigrationError) as refusal:
        running.restarted(stateful.define(read)).run(ROW)
    told = "cannot be read as LogOfNumbers: field log holds str 'x', expected an int"
    assert told in str(refusal.value)


def by_clock(state: Any = Total) -> Any:
    def fn(key: Any, rows: list[dict[str, Any]], state: State[Any]) -> None: ...

    return stateful.define(fn, state=state)


@dataclass
class ByWatermark:
    log: ListState[int] = stateful.list_state(ttl=timedelta(hours=1), time="event")


@dataclass
class Mortal:
    log: ListState[int] = stateful.list_state(ttl=timedelta(hours=1))


@dataclass
class Taken:
    state: ListState[int]


@stateful.state(version=2, migrations={1: dict})
@dataclass
class Migrated:
    log: ListState[int]


@pytest.mark.parametrize(
    ("state", "options", "told"),
    [
        (Total, {"operator": "flatMap"}, "operator='flatMap': it must be 'applyInPandasWithState'"),
        (Total, {"timeout": "never"}, "timeout='never': it must be None"),
        (Total, {"initial_state": True}, "but by_clock has no method handleInitialState(key,"),
        (
            Total,
            {"initial_state": True, "operator": "applyInPandasWithState"},
            "initial_state needs operator='transformWithState'",
        ),
        (ByWatermark, {}, "ByWatermark.log has time='event', but the time to live of a state"),
        (Mortal, {"timeout": "event"}, "Mortal.log has a time to live, and the query timeout='ev"),
        (Taken, {}, "Taken.state: with operator='transformWithState' a part is a state variable"),
        (Migrated, {}, "Migrated has migrations and parts: with operator='transformWithState'"),
    ],
)
def test_what_an_operator_cannot_do_is_refused_by_name(
    state: Any, options: dict[str, Any], told: str
) -> None:
    asked = {"operator": "transformWithState", "timeout": None, **options}
    with pytest.raises(DefinitionError) as refusal:
        operators.check(by_clock(state), **asked)
    assert told.replace("by_clock", "fn") in str(refusal.value)


def test_what_the_other_operator_can_do_is_not_refused() -> None:
    for state in (ByWatermark, Mortal, Taken, Migrated):
        operators.check(by_clock(state), "applyInPandasWithState", "event")
    operators.check(by_clock(Mortal), "transformWithState", "processing")


def test_keys_that_the_operator_cannot_have_are_refused() -> None:
    operators.check_keys(parse_ddl("a string, b timestamp, c decimal(9,2), d binary, e date"))
    with pytest.raises(DefinitionError) as refusal:
        operators.check_keys(parse_ddl("a string, gap interval day to second"))
    assert "by='gap' is interval day to second, which transformWith" in str(refusal.value)


PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.mark.parametrize(
    ("settings_given", "told"),
    [
        ({}, "is not set: call bucketstate.configure(builder)"),
        ({PROVIDER_KEY: "org.other.Provider"}, f"runs with {PROVIDER_CLASS} or {ROCKSDB}"),
        ({PROVIDER_KEY: PROVIDER_CLASS}, f"needs the session extension {EXTENSION_CLASS}"),
        (
            {PROVIDER_KEY: PROVIDER_CLASS, "spark.sql.extensions": "a.B,c.D"},
            f"spark.plugins={PLUGIN_CLASS}",
        ),
        ({PROVIDER_KEY: ROCKSDB}, None),
        ({PROVIDER_KEY: PROVIDER_CLASS, "spark.sql.extensions": f"a.B, {EXTENSION_CLASS}"}, None),
        ({PROVIDER_KEY: PROVIDER_CLASS, "spark.plugins": f"a.B, {PLUGIN_CLASS}"}, None),
    ],
)
def test_a_session_that_cannot_run_it_is_told_what_it_lacks(
    settings_given: dict[str, str], told: str | None
) -> None:
    if told is None:
        operators.check_session(settings_given.get)
        return
    with pytest.raises(SessionError) as refusal:
        operators.check_session(settings_given.get)
    assert told in str(refusal.value)


SLICES = "spark.sql.execution.arrow.maxRecordsPerOutputBatch"
SLICES_OF_BYTES = "spark.sql.execution.arrow.maxBytesPerOutputBatch"
TWICE = "puts out rows twice"


@pytest.mark.parametrize(
    ("operator", "version", "settings_given", "many", "told"),
    [
        ("applyInPandasWithState", "4.2.1", {SLICES: "3"}, False, TWICE),
        ("applyInPandasWithState", "4.1.4", {SLICES: "3"}, False, TWICE),
        ("applyInPandasWithState", "4.1.4", {SLICES: "3"}, True, None),
        ("applyInPandasWithState", "4.2.1", {SLICES_OF_BYTES: "1m"}, False, "rows of nulls"),
        ("applyInPandasWithState", "4.2.1", {SLICES_OF_BYTES: "-1"}, False, None),
        ("applyInPandasWithState", "4.2.1", {SLICES: "-1"}, False, None),
        ("applyInPandasWithState", "4.2.1", {SLICES: "0"}, False, None),
        ("applyInPandasWithState", "4.2.1", {}, False, None),
        ("applyInPandasWithState", "4.3.0", {SLICES: "3"}, False, None),
        ("applyInPandasWithState", "4.0.5", {SLICES: "3"}, False, None),
        ("transformWithState", "4.2.1", {SLICES: "3"}, False, TWICE),
        ("transformWithState", "4.1.4", {SLICES: "3"}, False, TWICE),
        ("transformWithState", "4.2.1", {SLICES: "3"}, True, None),
        ("transformWithState", "4.2.1", {SLICES_OF_BYTES: "500b"}, False, "fails"),
        ("transformWithState", "4.3.0", {SLICES: "3"}, False, None),
    ],
)
def test_a_setting_with_which_spark_puts_rows_out_twice(
    operator: Operator, version: str, settings_given: dict[str, str], many: bool, told: str | None
) -> None:
    def check() -> None:
        operators.check_output_batches(settings_given.get, operator, version, many_keys=many)

    if told is None:
        check()
        return
    (setting, most), *_ = settings_given.items()
    with pytest.raises(SessionError) as refusal:
        check()
    message = str(refusal.value)
    assert message.startswith(f"{setting} is {most}, and with it {operator} of Spark {version} ")
    assert told in message
    assert "Unset it, or call with many keys: many_keys=True " in message


@pytest.mark.parametrize(
    ("settings_given", "expected"),
    [
        ({}, False),
        ({"spark.sql.extensions": f"a.B, {EXTENSION_CLASS}"}, True),
        ({"spark.plugins": PLUGIN_CLASS}, True),
        ({"spark.plugins": "a.B"}, False),
    ],
)
def test_many_keys_need_the_extension(settings_given: dict[str, str], expected: bool) -> None:
    assert operators.has_extension(settings_given.get) == expected


def test_many_variables_need_this_provider_and_spark_4_2() -> None:
    for provider, version, expected in (
        (PROVIDER_CLASS, "4.2.1", True),
        (PROVIDER_CLASS, "4.1.4", False),
        (ROCKSDB, "4.2.1", False),
    ):
        found = operators.has_many_variables({PROVIDER_KEY: provider}.get, version)
        assert found == expected


def test_a_spark_without_rows_is_told_what_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(PandasGroupedOpsMixin, "transformWithState", raising=False)
    with pytest.raises(SessionError, match=r"needs Spark 4\.1 or newer.*applyInPandasWithState"):
        operators.check_spark()


def test_without_protobuf_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(MissingLibraryError) as refusal:
        operators.check_session({PROVIDER_KEY: ROCKSDB}.get)
    assert "operator='transformWithState' needs protobuf, which is not installed: pip install " in (
        str(refusal.value)
    )


class Seeded:
    """Brings counts in, and goes on counting."""

    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
        state.value.n += len(rows)
        return Out(key.key, state.value.n)

    def handleInitialState(self, key: Any, initial: dict[str, Any], state: State[Total]) -> None:
        assert initial["key"] == key.key
        state.value.n += initial["n"]


def test_the_initial_state_comes_before_the_first_rows() -> None:
    given_rows = [{"key": "a", "n": 10}, {"key": "a", "n": 5}, {"key": "b", "n": 1}]
    running = Harness(Seeded(), by="key", operator="transformWithState", initial_state=given_rows)
    assert running.run(ROW) == [{"key": "a", "n": 16}]
    assert running.state("b") == Total(1)
    assert running.restarted().run(ROW) == [{"key": "a", "n": 17}]


def test_an_initial_state_has_no_output_and_comes_as_what_its_hint_says() -> None:
    class Wrong(Seeded):
        def handleInitialState(self, _key: Any, initial: Out, state: Any) -> Any:  # type: ignore[override]
            state.update(Total(initial.n))
            return initial

    running = Harness(
        Wrong(), by="key", operator="transformWithState", initial_state=[{"key": "a", "n": 1}]
    )
    with pytest.raises(
        StateUsageError, match="handleInitialState of Wrong for Key\\(key='a'\\) re"
    ):
        running.run(ROW)

    class Says(Seeded):
        def handleInitialState(self, key: Any, initial: Out, state: Any) -> Out: ...  # type: ignore[override,empty-body]

    with pytest.raises(DefinitionError, match=r"Says.handleInitialState returns something"):
        stateful.define(Says())

    class Unknown(Seeded):
        def handleInitialState(self, key: Any, initial: set[int], state: Any) -> None: ...  # type: ignore[override]

    with pytest.raises(DefinitionError, match="a row of the initial state cannot be set"):
        stateful.define(Unknown())
