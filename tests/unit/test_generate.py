"""What `make generate` makes of a registry."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, get_type_hints

import pytest

from bucketstate.registry import Registry, parse_registry
from scripts.generate import fields, preset, reference
from scripts.generate.markdown import row
from scripts.generate.marks import END, between

BEGIN = "<!-- Made. -->"

AWKWARD = "A word | \"quoted\" \\ 'so', at length: " + "more of it, " * 12 + 'then "the end"'


def registry(*settings: dict[str, Any]) -> Registry:
    every = [{"key": f"p.{s['name']}", "doc": "What it does."} | s for s in settings]
    metric = {"name": "made", "type": "counter", "kind": "sum", "doc": "what | was made"}
    metrics = [metric | {"over": "sum", "prometheus": "made_total"}]
    made = {"prefix": "p.", "settings": every, "plugin": [], "metrics": metrics}
    return parse_registry(json.dumps(made))


REGISTRY = registry(
    {"name": "a.number", "type": "int", "min": 0, "max": 9, "default": "3"},
    {"name": "a.time", "type": "millis", "min": 0, "max": 60_000, "default": "1000"},
    {"name": "aSize", "type": "bytes", "min": 0, "max": 1 << 40, "default": "64m"},
    {"name": "aPart", "type": "memory", "default": "auto"},
    {"name": "aWord", "type": "enum", "values": ["one", "two"], "default": "two"},
    {
        "name": "aWait",
        "type": "duration",
        "min": 1,
        "word": "never",
        "default": "never",
        "perQuery": True,
    },
    {"name": "someNames", "type": "named", "groups": ["one", "two"], "default": ""},
    {"name": "aTruth", "type": "enum", "values": ["true", "false"], "default": "true"},
    {"name": "aFolder", "type": "folder", "default": "spark"},
    {"name": "aText", "type": "string", "default": "some", "doc": AWKWARD},
)


def test_each_setting_is_a_field_that_need_not_be_given() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec(fields.module(REGISTRY), names)
    assert get_type_hints(names["Settings"]) == {
        "a_number": int | None,
        "a_time": int | timedelta | None,
        "a_size": int | str | None,
        "a_part": int | str | None,
        "a_word": Literal["one", "two"] | None,
        "a_wait": timedelta | str | None,
        "some_names": Mapping[str, str | int] | tuple[tuple[str, str], ...],
        "a_truth": bool | Literal["true", "false"] | None,
        "a_folder": str | PathLike[str] | None,
        "a_text": str | None,
    }
    given = dataclasses.asdict(names["Settings"]())
    assert given == dict.fromkeys(given) | {"some_names": ()}


def test_each_field_has_its_words_below_it_where_editors_look() -> None:
    module = ast.parse(fields.module(REGISTRY))
    (settings,) = (node for node in module.body if isinstance(node, ast.ClassDef))
    docs = [n.value for n in settings.body[1:] if isinstance(n, ast.Expr)]
    found = [" ".join(ast.literal_eval(doc).split()) for doc in docs]
    of_defaults = {s.field: f" By default {s.default!r}." for s in REGISTRY.settings}
    of_defaults["some_names"] = ""
    assert found == [s.doc + of_defaults[s.field] for s in REGISTRY.settings]
    assert found[0] == "What it does. By default 3."
    assert max(map(len, fields.module(REGISTRY).splitlines())) <= 100


def test_the_preset_sets_everything_to_its_default() -> None:
    text = preset.properties(REGISTRY)
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert ["p.aSize", "64m"] in lines
    for setting in REGISTRY.settings:
        start = "" if setting.shown == (setting.key,) else "# "
        assert f"\n\n# {setting.doc}\n{start}{setting.shown[0]} " in text


def test_a_bar_does_not_end_a_cell() -> None:
    assert row("one | two", "three") == "| one \\| two | three |\n"
    assert "| `made` | counter | sum | what \\| was made | `made_total` |\n" in reference.page(
        REGISTRY
    )


def test_the_reference_says_what_can_be_given_for_one_query() -> None:
    assert reference.page(REGISTRY).count("| for one query |") == 1
    assert '`Conf().for_query("name", a_wait=...)`' in reference.page(REGISTRY)


def test_only_what_lies_between_the_marks_changes() -> None:
    made = between("a page", f"before\n{BEGIN}\nold\n{END}\nafter\n", BEGIN, "new\n")
    assert made == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert between("a page", made, BEGIN, "new\n") == made


@pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_without_the_marks_nothing_is_made(text: str) -> None:
    with pytest.raises(ValueError, match="needs these two lines"):
        between("a page", text, BEGIN, "new\n")
