"""What stands behind a key to say which query and operator it is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate.scopes import Scope

names = st.text(min_size=1).filter(lambda name: ".operator." not in name)
numbers = st.integers(0, 1 << 40)


@given(st.builds(Scope, st.none() | names, st.none() | numbers))
def test_a_scope_has_one_suffix(scope: Scope) -> None:
    assert Scope.parse(scope.suffix) == scope


@pytest.mark.parametrize(
    ("suffix", "scope"),
    [
        ("", Scope()),
        (".query.sessions", Scope("sessions")),
        (".query.a.b c", Scope("a.b c")),
        (".operator.0", Scope(None, 0)),
        (".query.a.operator.12", Scope("a", 12)),
        (".query.a.operator.1.operator.2", Scope("a.operator.1", 2)),
        (".query.a.operator.x", Scope("a.operator.x")),
        (".query.operator.1", Scope("operator.1")),
    ],
)
def test_what_a_suffix_says(suffix: str, scope: Scope) -> None:
    assert Scope.parse(suffix) == scope


@pytest.mark.parametrize(
    ("scope", "suffixes"),
    [
        (Scope(), [""]),
        (Scope("a"), [".query.a", ""]),
        (Scope(None, 2), [".operator.2", ""]),
        (Scope("a", 2), [".query.a.operator.2", ".query.a", ".operator.2", ""]),
    ],
)
def test_where_a_setting_is_looked_up(scope: Scope, suffixes: list[str]) -> None:
    assert [one.suffix for one in scope.wider] == suffixes


@pytest.mark.parametrize(
    "suffix",
    [".", "query.a", ".query.", ".operator.", ".operator.01", ".operator.٣", ".operator.1.query.a"],
)
def test_a_suffix_that_says_nothing(suffix: str) -> None:
    with pytest.raises(ValueError, match="names no query or operator"):
        Scope.parse(suffix)
