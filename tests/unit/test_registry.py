"""Reading `settings.json`."""

import json

import pytest

from bucketstate.errors import InvalidSettingError
from bucketstate.registry import parse_registry, registry
from bucketstate.scopes import Scope


def test_a_dotted_name_becomes_a_field() -> None:
    setting = {
        "name": "snapshot.maxBytes",
        "key": "k",
        "type": "string",
        "default": "64m",
        "doc": "",
    }
    text = json.dumps({"prefix": "p.", "plugin": [], "settings": [setting], "metrics": []})
    assert parse_registry(text).settings[0].field == "snapshot_max_bytes"


def test_a_type_that_python_does_not_know_is_an_error() -> None:
    setting = {"name": "n", "key": "k", "type": "colour", "default": "red", "doc": ""}
    text = json.dumps({"prefix": "p.", "plugin": [], "settings": [setting], "metrics": []})
    with pytest.raises(ValueError, match="n has the type colour"):
        parse_registry(text)


def test_a_setting_says_whether_it_can_be_given_for_one_query() -> None:
    time = {"name": "n", "key": "p.n", "type": "duration", "min": 1, "word": "auto"}
    plain = time | {"default": "auto", "doc": ""}
    scoped = plain | {"name": "m", "key": "p.m", "perQuery": True}
    text = json.dumps({"prefix": "p.", "plugin": [], "settings": [plain, scoped], "metrics": []})
    one, other = parse_registry(text).settings
    assert (one.per_query, other.per_query) == (False, True)
    assert parse_registry(text).by_key("p.m.query.a.b.operator.3") == (other, Scope("a.b", 3))
    with pytest.raises(InvalidSettingError, match=r"p\.n\.query\.a is not a setting"):
        parse_registry(text).by_key("p.n.query.a")


def test_metrics_have_a_kind_that_spark_knows() -> None:
    assert {m.kind for m in registry().metrics} <= {"sum", "size", "timing"}


def test_a_metric_is_a_counter_or_a_gauge() -> None:
    types = {m.name: m.type for m in registry().metrics}
    assert types["bucketedSnapshotLag"] == types["bucketedRuns"] == "gauge"
    assert types["bucketedChangelogBytes"] == types["bucketedSnapshots"] == "counter"
    # What is counted since the store was opened is not to be added up over batches, either.
    assert types["bucketedRetentionFailures"] == "gauge"
    meter = {"name": "m", "type": "meter", "kind": "sum", "doc": ""}
    text = json.dumps({"prefix": "p.", "plugin": [], "settings": [], "metrics": [meter]})
    with pytest.raises(ValueError, match="metric m has the type meter"):
        parse_registry(text)
