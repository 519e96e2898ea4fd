"""Which answers are alike: their order says nothing, that of a list within one does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bucketstate.testing.differences import different, document_of


def entry(key: Any, value: Any, **more: Any) -> dict[str, Any]:
    return {"key": key, "value": value, **more}


OF_PART = entry(1, "x", expires=5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([entry("a", 1), entry("b", 2)], [entry("b", 2), entry("a", 1)]),
        ([entry("a", 1), entry("a", 1)], [entry("a", 1)]),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 2}),
    ],
)
def test_a_list_in_a_row_has_an_order_and_each_of_its_values(one: Any, other: Any) -> None:
    rows = [{"n": one}], [{"n": other}]
    assert different(*rows) == rows
    assert different(rows[0], rows[0]) == ([], [])


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ([entry(1, "x"), entry(2, "y")], [entry(2, "y"), entry(1, "x")], True),
        ([OF_PART, entry(2, "y")], [entry(2, "y"), OF_PART], True),
        ([[entry(1, [2, 3])]], [[entry(1, [3, 2])]], False),
        ([entry(1, "x")], [entry(1, "y")], False),
        ([entry(1, "x"), entry(1, "y")], [entry(1, "y"), entry(1, "x")], False),
        ([entry(1, "x"), entry(1, "x")], [entry(1, "x")], False),
        ([entry([1], "x"), entry([2], "y")], [entry([2], "y"), entry([1], "x")], True),
        ([{"key": 1, "n": 1}, {"key": 2, "n": 2}], [{"key": 2, "n": 2}, {"key": 1, "n": 1}], False),
        ([], [], True),
    ],
)
def test_a_map_in_a_document_has_none(one: Any, other: Any, alike: bool) -> None:
    documents = [[{"state": document_of(json.dumps({"of": found}))}] for found in (one, other)]
    assert (different(*documents) == ([], [])) is alike
