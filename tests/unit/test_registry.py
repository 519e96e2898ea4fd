"""Reading `settings.json`."""

import json

import pytest

from bucketstate.registry import parse_registry, registry


def test_a_dotted_name_becomes_a_field() -> None:
    setting = {
        "name": "snapshot.maxBytes",
        "key": "k",
        "type": "string",
        "default": "64m",
        "doc": "",
    }
    text = json.dumps({"prefix": "p.", "settings": [setting], "metrics": []})
    assert parse_registry(text).settings[0].field == "snapshot_max_bytes"


def test_a_type_that_python_does_not_know_is_an_error() -> None:
    setting = {"name": "n", "key": "k", "type": "colour", "default": "red", "doc": ""}
    text = json.dumps({"prefix": "p.", "settings": [setting], "metrics": []})
    with pytest.raises(ValueError, match="n has the type colour"):
        parse_registry(text)


def test_metrics_have_a_kind_that_spark_knows() -> None:
    assert {m.kind for m in registry().metrics} <= {"sum", "size", "timing"}
