"""What `make chaos` holds answers to: that the model is right, and that a wrong answer is found."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.chaos import events
from tests.chaos.application import CHECKPOINTS, SAID, checkpoints, publish
from tests.chaos.checking import Checker, WrongAnswerError, is_damage, outlined
from tests.chaos.events import START, Event
from tests.chaos.faults import KINDS, Fault
from tests.chaos.models import MODELS
from tests.chaos.queries import QUERIES
from tests.chaos.variants import STATE_STORE, Variant

if TYPE_CHECKING:
    from pathlib import Path

SEED = 5


def event(number: int, minutes: int, key: int = 1, value: int = 2) -> Event:
    return Event(number, START + timedelta(minutes=minutes), key, value)


ONE, TWO, OTHER = event(1, 0), event(2, 5, value=7), event(3, 6, key=2, value=1)


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("aggregation", [[1, 2, 9, 7]], [[1, 3, 11, 7], [2, 1, 1, 1]]),
        ("dedup", [[1, 1, 2], [2, 1, 7]], [[3, 2, 1]]),
        (
            "applyInPandasWithState",
            [[1, 2, 9, "[1, 2]"]],
            [[1, 3, 11, "[1, 2, 1]"], [2, 1, 1, "[3]"]],
        ),
        ("many keys", [[1, 2, 9, "[1, 2]"]], [[1, 3, 11, "[1, 2, 1]"], [2, 1, 1, "[3]"]]),
        ("transformWithState", [[1, 2, 9, "[1, 2]"]], [[1, 3, 11, "[1, 2, 1]"], [2, 1, 1, "[3]"]]),
    ],
)
def test_a_model_goes_on_from_batch_to_batch(query: str, first: Any, second: Any) -> None:
    model = MODELS[query]()
    assert model.batch([ONE, TWO], []) == first
    assert model.batch([ONE, OTHER], []) == second


def test_a_match_comes_with_the_batch_of_its_later_side() -> None:
    model = MODELS["join"]()
    near, far, before = event(11, 25), event(12, 26), event(13, 4)
    assert model.batch([ONE, TWO, OTHER], []) == []
    assert model.batch([], [near, far, before]) == [[1, 13], [2, 11]]
    assert model.batch([event(4, 10)], [event(14, 20)]) == [
        [1, 14],
        [2, 14],
        [4, 11],
        [4, 12],
        [4, 14],
    ]


def test_every_query_has_a_model() -> None:
    assert MODELS.keys() == QUERIES.keys()


def test_events_come_in_time_and_some_of_them_twice() -> None:
    made = [events.events(SEED, "left", n) for n in range(3)]
    assert made == [events.events(SEED, "left", n) for n in range(3)]
    again = [e for e in made[2] if e in made[1]]
    assert len(again) == 4
    assert all(e.at >= START + 2 * events.SPAN for e in made[2] if e not in again)
    assert made != [events.events(SEED + 1, "left", n) for n in range(3)]


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    """Of a query that has read one file with each batch."""
    made = Checker(tmp_path, "aggregation", SEED)
    offsets = tmp_path / CHECKPOINTS / "aggregation" / "0" / "offsets"
    offsets.mkdir(parents=True)
    for number in range(3):
        log = ["v1", "{}", json.dumps({"logOffset": number})]
        (offsets / str(number)).write_text("\n".join(log))
    return made


def test_of_the_checkpoints_of_moves_the_last_one_counts(tmp_path: Path) -> None:
    assert checkpoints(tmp_path, "join") == [tmp_path / CHECKPOINTS / "join" / "0"]
    for number in (0, 2, 10, 9):
        (tmp_path / CHECKPOINTS / "join" / str(number)).mkdir()
    assert [int(found.name) for found in checkpoints(tmp_path, "join")] == [0, 2, 9, 10]


def answers() -> list[list[list[Any]]]:
    model = MODELS["aggregation"]()
    return [model.batch(events.events(SEED, "left", n), []) for n in range(3)]


def say(checker: Checker, batch: int, rows: list[list[Any]]) -> None:
    publish(checker.root / SAID / checker.query, {"batch": batch, "rows": rows})


def test_right_answers_pass_in_any_order_of_rows_and_any_number_of_times(checker: Checker) -> None:
    for batch, rows in enumerate(answers()):
        say(checker, batch, rows)
        say(checker, batch, rows[::-1])
    checker.check()
    say(checker, 1, answers()[1])
    checker.check()
    assert (checker.batches, checker.answers, checker.reached) == (3, 7, [2])


def test_a_lost_update_is_found(checker: Checker) -> None:
    say(checker, 0, answers()[0])
    without_the_first = MODELS["aggregation"]().batch(events.events(SEED, "left", 1), [])
    say(checker, 1, without_the_first)
    with pytest.raises(WrongAnswerError, match="aggregation: batch 1 "):
        checker.check()


def test_an_update_that_is_made_twice_is_found_when_the_batch_is_answered_again(
    checker: Checker,
) -> None:
    say(checker, 0, answers()[0])
    checker.check()
    key, seen, total, largest = answers()[0][0]
    say(checker, 0, [[key, seen * 2, total * 2, largest], *answers()[0][1:]])
    with pytest.raises(WrongAnswerError, match="aggregation: batch 0 "):
        checker.check()


def test_a_batch_that_never_answered_is_found(checker: Checker) -> None:
    say(checker, 1, answers()[1])
    with pytest.raises(WrongAnswerError, match="batch 1 came before batch 0"):
        checker.check()


def test_what_the_store_misses_is_damage_and_a_lost_executor_is_none() -> None:
    missing = "io.bucketstate.error.MissingException: a/3.changelog does not exist: it was."
    damage = f"Job aborted.\nCaused by: {missing}"
    lost = "Job aborted.\nCaused by: o.a.s.SparkException: ExecutorLostFailure (executor 3 exited)"
    assert is_damage(damage)
    assert not is_damage(lost)
    assert (
        outlined(lost) == "Caused by: o.a.s.SparkException: ExecutorLostFailure (executor 3 exited)"
    )


def test_a_seed_draws_the_same_again_and_all_kinds_in_time() -> None:
    def drawn() -> list[Fault]:
        chance = random.Random(SEED)
        return [Fault.drawn(chance) for _ in range(300)]

    assert drawn() == drawn()
    assert {fault.kind for fault in drawn()} == set(KINDS)
    chance = random.Random(SEED)
    variants = [Variant.drawn(chance, 2) for _ in range(60)]
    assert {variant.engine for variant in variants} == {"heap", "rocksdb"}
    for name in ("speculation", "unload_on_commit", "dynamic_allocation"):
        assert {getattr(variant, name) for variant in variants} == {True, False}
    settings = Variant("rocksdb", 2, True, True, True).settings(buckets=16)
    assert settings[STATE_STORE + "unloadOnCommit"] == "true"
    assert settings[STATE_STORE + "checkpointFormatVersion"] == "2"
