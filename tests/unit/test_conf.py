"""Conf: what it accepts, what it refuses and how it says so."""

# Arguments of wrong types are what is tested.
# mypy: disable-error-code="arg-type,call-arg,misc,dict-item,list-item,call-overload"

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from datetime import timedelta
from functools import partial
from pathlib import PurePosixPath
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import PROVIDER_CLASS, Conf, InvalidSettingError
from bucketstate.config import PROVIDER_KEY
from bucketstate.presets import PRESETS, PresetName
from bucketstate.registry import registry

PREFIX = "spark.sql.streaming.stateStore.bucketed."
UNTYPED: Any = Conf


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


confs = st.builds(
    Conf,
    num_buckets=maybe(st.integers(1, 32768)),
    lock_acquire_timeout=maybe(st.integers(1, 86_400_000)),
    memory_max_bytes=st.one_of(
        st.none(),
        st.just("auto"),
        st.integers(1, 90).map("{}%".format),
        st.integers(1, 1 << 30).map("{}m".format),
        st.integers(1 << 20, (1 << 63) - 1),
    ),
    memory_prevent_eviction_for=maybe(st.integers(0, 86_400_000)),
    exact_key_count=maybe(st.sampled_from(["true", "false"])),
    time_bucket_expire_after=st.one_of(
        st.none(),
        st.just("never"),
        st.integers(1, 100).flatmap(lambda n: st.sampled_from([f"{n}s", f"{n} min", f"{n}d"])),
        st.integers(1, 0xFFFFFFFF).map(lambda n: timedelta(seconds=n)),
    ),
)
names = st.text(min_size=1).filter(lambda name: ".operator." not in name)
scopes = st.one_of(
    st.tuples(names, st.none()),
    st.tuples(st.none(), st.integers(0, 1000)),
    st.tuples(names, st.integers(0, 1000)),
)


@given(confs)
def test_what_spark_holds_gives_the_same_conf_back(conf: Conf) -> None:
    assert Conf.from_spark(conf.to_spark()) == conf


@given(confs, st.dictionaries(scopes, st.sampled_from(["7d", "never"])))
def test_spark_holds_what_is_for_one_query_too(
    conf: Conf, of_scopes: dict[tuple[str | None, int | None], str]
) -> None:
    for (query, operator), value in of_scopes.items():
        conf = conf.for_query(query, operator=operator, time_bucket_expire_after=value)
    assert len(conf.per_query) == len(of_scopes)
    assert Conf.from_spark(conf.to_spark()) == conf
    assert hash(conf) == hash(Conf.from_spark(conf.to_spark()))


@given(confs)
def test_what_is_given_and_the_provider_reach_spark_as_text(conf: Conf) -> None:
    settings = conf.to_spark()
    assert settings[PROVIDER_KEY] == PROVIDER_CLASS
    given = {s.key for s in registry().settings if getattr(conf, s.field) not in (None, ())}
    assert set(settings) == {PROVIDER_KEY} | given
    assert all(isinstance(text, str) for text in settings.values())


def test_what_is_not_given_is_not_set_and_a_default_that_is_given_is() -> None:
    assert Conf().to_spark() == {PROVIDER_KEY: PROVIDER_CLASS}
    given = Conf(num_buckets=64)
    assert given.to_spark() == {PROVIDER_KEY: PROVIDER_CLASS, PREFIX + "numBuckets": "64"}
    assert given != Conf()
    assert replace(given, engine="heap") == Conf(num_buckets=64, engine="heap")


def test_the_defaults_are_given_all_of_them() -> None:
    every = Conf.defaults()
    assert {s.field: getattr(every, s.field) for s in registry().settings} == {
        s.field: s.default for s in registry().settings
    }
    single = {s.key for s in registry().settings if s.shown == (s.key,)}
    assert set(every.to_spark()) == {PROVIDER_KEY} | single


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_what_it_sets(name: Any) -> None:
    conf = Conf.preset(name)
    assert conf.to_spark() == {PROVIDER_KEY: PROVIDER_CLASS, **PRESETS[name].to_spark()}
    assert Conf.preset(name, compaction_max_runs=99) == replace(conf, compaction_max_runs=99)


def test_a_preset_that_is_not_known_names_those_that_are() -> None:
    expected = "no preset 'large': it must be one of 'low-latency', 'large-state', 'small-files'"
    with pytest.raises(InvalidSettingError, match=expected):
        Conf.preset("large")
    with pytest.raises(InvalidSettingError, match="numBuckets is 0: it must be"):
        Conf.preset("large-state", num_buckets=0)


def test_settings_of_spark_s_own_go_along() -> None:
    key = "spark.sql.streaming.minBatchesToRetain"
    conf = Conf(others={key: 20})
    assert conf == Conf(others=((key, "20"),))
    assert conf.to_spark() == {PROVIDER_KEY: PROVIDER_CLASS, key: "20"}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({PREFIX + "numBuckets": "8"}, "numBuckets, which is not Spark's own"),
        ({PROVIDER_KEY: "x"}, "providerClass, which is not Spark's own"),
        ({"numBuckets": "8"}, "it must be texts by Spark's keys"),
        ("spark.a=1", "it must be texts by Spark's keys"),
        ((("spark.a", 1),), "it must be texts by Spark's keys"),
    ],
)
def test_what_is_not_spark_s_own_does_not(others: Any, expected: str) -> None:
    with pytest.raises(InvalidSettingError, match=expected):
        Conf(others=others)


def test_settings_of_others_are_ignored() -> None:
    assert Conf.from_spark({"spark.sql.shuffle.partitions": "7"}) == Conf()


def test_a_conf_cannot_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Conf().num_buckets = 3


@given(st.integers().filter(lambda n: not 1 <= n <= 32768))
def test_a_number_out_of_bounds_names_key_value_and_bounds(buckets: int) -> None:
    with pytest.raises(InvalidSettingError) as error:
        Conf(num_buckets=buckets)
    for part in (PREFIX + "numBuckets", str(buckets), "from 1 to 32768"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_buckets", "64"),
        ("num_buckets", 64.0),
        ("num_buckets", True),
        ("engine", "Heap"),
        ("lock_acquire_timeout", 0),
        ("lock_acquire_timeout", "60s"),
        ("lock_acquire_timeout", timedelta(microseconds=1500)),
        ("memory_prevent_eviction_for", timedelta(seconds=-1)),
        ("memory_max_bytes", "95%"),
        ("memory_max_bytes", 0.4),
        ("memory_max_bytes", 1024),
        ("memory_prevent_eviction_for", -1),
        ("num_buckets", timedelta(seconds=64)),
        ("time_bucket_expire_after", 60),
        ("time_bucket_expire_after", "auto"),
        ("time_bucket_expire_after", "7 days"),
        ("time_bucket_expire_after", timedelta(0)),
        ("time_bucket_expire_after", timedelta(seconds=-5)),
        ("time_bucket_span", timedelta(milliseconds=1500)),
        ("time_bucket_span", "never"),
        ("rocksdb_preset", "tape"),
        ("rocksdb_options", "db.max_open_files=9"),
        ("rocksdb_options", {"max_open_files": 9}),
        ("rocksdb_options", {"db.": 9}),
        ("rocksdb_options", {"cf.block_size": ""}),
        ("rocksdb_options_factory", ""),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidSettingError, match="it must be"):
        Conf(**{field: value})


@pytest.mark.parametrize("text", ["", "many", "1e3", "12.0", "0", "32769"])
def test_text_that_is_no_allowed_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettingError, match=r"numBuckets.*from 1 to 32768"):
        Conf.from_spark({PREFIX + "numBuckets": text})


@pytest.mark.parametrize("text", ["", "half", "0%", "91%", "512k", "-1", "auto%"])
def test_text_that_is_no_allowed_part_of_the_heap_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettingError, match=r"memory\.maxBytes.*'auto'.* 40%.* 512m"):
        Conf.from_spark({PREFIX + "memory.maxBytes": text})


@pytest.mark.parametrize(
    ("given_key", "meant"),
    [
        ("numBucket", "numBuckets"),
        ("numbuckets", "numBuckets"),
        ("lockTimeout", "lockAcquireTimeout"),
        ("engines", "engine"),
        ("memory.maxByte", "memory.maxBytes"),
        ("timeBucket.expire", "timeBucket.expireAfter"),
        ("rocksdb.presets", "rocksdb.preset"),
        # This one is for all queries only.
        ("numBuckets.query.sessions", "numBuckets"),
    ],
)
def test_an_unknown_key_names_the_nearest(given_key: str, meant: str) -> None:
    with pytest.raises(InvalidSettingError) as error:
        Conf.from_spark({PREFIX + given_key: "1"})
    assert f"did you mean {PREFIX}{meant}?" in str(error.value)


@given(st.integers(1, 0xFFFFFFFF))
def test_a_timedelta_is_written_as_seconds(seconds: int) -> None:
    conf = Conf(time_bucket_expire_after=timedelta(seconds=seconds))
    assert conf == Conf(time_bucket_expire_after=f"{seconds}s")
    assert conf.to_spark()[PREFIX + "timeBucket.expireAfter"] == f"{seconds}s"


def test_a_timedelta_of_a_setting_in_milliseconds_is_so_many() -> None:
    conf = Conf(
        lock_acquire_timeout=timedelta(seconds=60), memory_prevent_eviction_for=timedelta(0)
    )
    assert conf == Conf(lock_acquire_timeout=60_000, memory_prevent_eviction_for=0)
    assert conf.to_spark()[PREFIX + "lockAcquireTimeout"] == "60000"
    with pytest.raises(InvalidSettingError, match="a whole number of milliseconds from 1 to"):
        Conf(lock_acquire_timeout=timedelta(0))


def test_a_time_is_refused_as_it_was_given() -> None:
    expected = (
        r"timeBucket\.span is datetime\.timedelta\(microseconds=5\): it must be a time such as "
        r"90s, 30min, 12h or 7d of at least 1s, or 'auto'\."
    )
    with pytest.raises(InvalidSettingError, match=expected):
        Conf(time_bucket_span=timedelta(microseconds=5))


def test_settings_for_one_query_stand_beside_those_for_all() -> None:
    conf = (
        Conf(time_bucket_expire_after="30d")
        .for_query("a.b", time_bucket_expire_after="7d", time_bucket_column="seen")
        .for_query(operator=2, time_bucket_expire_after=timedelta(hours=1))
        .for_query("a.b", operator=0, time_bucket_expire_after="12h")
        .for_query("a.b", operator=0, time_bucket_expire_after="never")
    )
    key = PREFIX + "timeBucket.expireAfter"
    found = {k: v for k, v in conf.to_spark().items() if "timeBucket" in k}
    assert found == {
        key: "30d",
        key + ".query.a.b": "7d",
        key + ".operator.2": "3600s",
        key + ".query.a.b.operator.0": "never",
        PREFIX + "timeBucket.column.query.a.b": "seen",
    }
    assert Conf.from_spark(found) == conf


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"query": ""},
        {"operator": -1},
        {"operator": True},
        {"operator": 1.0},
        # Spark's settings could not tell it from an operator of the query "a".
        {"query": "a.operator.1"},
    ],
)
def test_what_names_no_query_and_no_operator(scope: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettingError, match="give a query's name"):
        Conf().for_query(**scope, time_bucket_span="1h")


def test_a_setting_that_is_for_all_queries() -> None:
    expected = "num_buckets cannot be given for one query, only exact_key_count, "
    with pytest.raises(InvalidSettingError, match=expected):
        Conf().for_query("q", num_buckets=1)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("numBuckets", "num_buckets"),
        ("num_bukets", "num_buckets"),
        ("timeBucket.expireAfter", "time_bucket_expire_after"),
        ("colour", ""),
    ],
)
def test_a_name_that_is_no_field_names_the_nearest(name: str, meant: str) -> None:
    for make in (
        UNTYPED,
        lambda **s: UNTYPED.preset("large-state", **s),
        partial(UNTYPED().for_query, "q"),
    ):
        with pytest.raises(InvalidSettingError, match=f"{name} is not a .* did you mean {meant}"):
            make(**{name: "1"})


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: UNTYPED(64), "Conf was given 64 without a name: give settings by name"),
        (lambda: UNTYPED({"num_buckets": 64}), "without a name"),
        (lambda: UNTYPED(per_query=5), "per_query is 5: leave it to for_query"),
        (lambda: UNTYPED(per_query=(5,)), "leave it to for_query"),
        (lambda: UNTYPED.preset(["large-state"]), "There is no preset"),
        (lambda: UNTYPED.from_spark(None), "The settings are None: give texts by Spark's keys"),
        (lambda: UNTYPED.from_spark({5: "x"}), "give texts by Spark's keys"),
        (lambda: UNTYPED.from_spark({PREFIX + "numBuckets": 64}), "numBuckets is 64: it must be"),
        (lambda: UNTYPED.from_spark({PREFIX + "rocksdb.options.db.a": None}), "it must be texts"),
    ],
)
def test_what_is_no_conf_at_all(make: Any, told: str) -> None:
    with pytest.raises(InvalidSettingError) as refusal:
        make()
    assert told in str(refusal.value)


def test_a_truth_value_is_one_of_python_s() -> None:
    assert Conf(exact_key_count=False) == Conf(exact_key_count="false")
    assert Conf(exact_key_count=True).to_spark()[PREFIX + "exactKeyCount"] == "true"
    narrowed = Conf().for_query("q", exact_key_count=True)
    assert narrowed == Conf().for_query("q", exact_key_count="true")
    other: Any
    for other in (0, 1, "False", "yes"):
        with pytest.raises(InvalidSettingError, match="must be one of 'true', 'false'"):
            Conf(exact_key_count=other)


def test_a_folder_may_be_a_path_object() -> None:
    assert Conf(local_dir=PurePosixPath("/data/state")) == Conf(local_dir="/data/state")
    for field in ("local_dir", "time_bucket_column"):
        with pytest.raises(InvalidSettingError, match="must be a"):
            UNTYPED(**{field: b"/data"})
    with pytest.raises(InvalidSettingError, match="must be a text"):
        Conf(time_bucket_column=PurePosixPath("a"))


def test_a_conf_is_copied_and_pickled() -> None:
    conf = Conf(num_buckets=16).for_query("q", time_bucket_expire_after="1h")
    assert pickle.loads(pickle.dumps(conf)) == copy.deepcopy(conf) == replace(conf) == conf


def test_a_value_for_one_query_is_checked() -> None:
    expected = r"timeBucket\.expireAfter is '7days': it must be a time such as"
    with pytest.raises(InvalidSettingError, match=expected):
        Conf().for_query("q", time_bucket_expire_after="7days")
    with pytest.raises(InvalidSettingError, match=expected):
        Conf.from_spark({PREFIX + "timeBucket.expireAfter.query.q": "7days"})


@pytest.mark.parametrize(
    "suffix", [".", ".query", ".query.", ".operator.", ".operator.x", ".operator.-1", ".for.q"]
)
def test_a_key_with_a_suffix_that_names_nothing(suffix: str) -> None:
    expected = "names no query or operator. Behind .*expireAfter may stand .query.<name>"
    with pytest.raises(InvalidSettingError, match=expected):
        Conf.from_spark({PREFIX + "timeBucket.expireAfter" + suffix: "7d"})


def test_a_key_for_all_queries_is_no_setting_of_one() -> None:
    with pytest.raises(InvalidSettingError, match=r"is for all queries: give it as Conf\(time_"):
        Conf(per_query=((PREFIX + "timeBucket.span", "1h"),))


def test_native_options_are_given_by_name_and_reach_spark_each_under_its_key() -> None:
    conf = Conf(
        engine="rocksdb",
        rocksdb_preset="flash-ssd",
        rocksdb_options={"db.max_background_jobs": 4, "cf.cache_index_and_filter_blocks": True},
        rocksdb_options_factory="org.example.Options",
    )
    given = "rocksdb.preset", "rocksdb.options"
    found = {k: v for k, v in conf.to_spark().items() if k[len(PREFIX) :].startswith(given)}
    assert found == {
        PREFIX + "rocksdb.preset": "flash-ssd",
        PREFIX + "rocksdb.options.cf.cache_index_and_filter_blocks": "true",
        PREFIX + "rocksdb.options.db.max_background_jobs": "4",
        PREFIX + "rocksdb.optionsFactory": "org.example.Options",
    }
    assert Conf.from_spark(conf.to_spark()) == conf
    assert hash(Conf.from_spark(conf.to_spark())) == hash(conf)


def test_a_native_option_in_no_group_is_refused_with_the_two() -> None:
    expected = r"rocksdb\.options is .*'foo'.*: it must be texts .* db\.<name> or cf\.<name>"
    with pytest.raises(InvalidSettingError, match=expected):
        Conf.from_spark({PREFIX + "rocksdb.options.foo": "1"})
    with pytest.raises(InvalidSettingError, match=r"rocksdb\.options\.db\.<name> or "):
        Conf.from_spark({PREFIX + "rocksdb.options": "1"})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cf.write_bufer_size", r"Did you mean .*rocksdb\.options\.cf\.write_buffer_size\?"),
        ("db.max_backgroundjobs", r"Did you mean .*rocksdb\.options\.db\.max_background_jobs\?"),
        ("db.write_buffer_size", r"Did you mean .*rocksdb\.options\.cf\.write_buffer_size\?"),
        ("cf.max_open_files", r"Did you mean .*rocksdb\.options\.db\.max_open_files\?"),
        ("db.atomic_flush", r"the engine relies on writes .* Remove it\."),
        ("cf.comparator", r"keys in the order of their bytes\. Remove it\."),
        ("cf.metadata_cache_options", r"RocksDB has no way to set it from Java\. Remove it\."),
    ],
)
def test_a_native_option_that_rocksdb_has_not_or_the_engine_sets_is_refused(
    name: str, told: str
) -> None:
    expected = rf"rocksdb\.options\.{re.escape(name)} is '1': .*{told}"
    with pytest.raises(InvalidSettingError, match=expected):
        Conf(rocksdb_options={name: 1})
    with pytest.raises(InvalidSettingError, match=expected):
        Conf.from_spark({f"{PREFIX}rocksdb.options.{name}": "1"})


def test_it_shows_what_is_given() -> None:
    conf = Conf(num_buckets=8, others={"spark.a": "b"})
    assert repr(conf) == "Conf(num_buckets=8, others=(('spark.a', 'b'),))"
    scoped = conf.for_query("q", time_bucket_expire_after="1h")
    assert eval(repr(scoped)) == scoped
    assert repr(Conf()) == "Conf()"


@pytest.mark.parametrize(
    ("span", "after", "told"),
    [
        ("2h", "1h", "which is longer than .*='1h': state expires by whole spans"),
        ("1s", "4001s", "which is less than one in 4000 of"),
    ],
)
def test_a_span_that_no_task_would_take(span: str, after: str, told: str) -> None:
    with pytest.raises(InvalidSettingError, match=told):
        Conf(time_bucket_span=span, time_bucket_expire_after=after)
    with pytest.raises(InvalidSettingError, match=told):
        Conf(time_bucket_span=span).for_query("q", time_bucket_expire_after=after)
    with pytest.raises(InvalidSettingError, match=r"span\.query\.q is"):
        Conf(time_bucket_expire_after=after).for_query("q", time_bucket_span=span)
    # Who sets the other one is not known.
    Conf(time_bucket_span=span)
    Conf(time_bucket_span=span, time_bucket_expire_after="never")


SPAN = PREFIX + "timeBucket.span"
AFTER = PREFIX + "timeBucket.expireAfter"


@pytest.mark.parametrize(
    "settings",
    [
        {AFTER: "1h", AFTER + ".query.a": "30d", SPAN + ".query.a.operator.0": "1d"},
        {AFTER: "1h", AFTER + ".operator.0": "30d", SPAN + ".query.a.operator.0": "1d"},
        # What is for the query comes before what is for the operator of any.
        {AFTER + ".operator.0": "1h", AFTER + ".query.a": "30d", SPAN + ".query.a": "1d"},
        # Of two queries, and of two operators: they never meet.
        {AFTER + ".query.a": "1h", SPAN + ".query.b": "1d"},
        {AFTER + ".operator.0": "1h", SPAN + ".operator.1": "1d"},
        {AFTER + ".query.a.operator.0": "1h", SPAN + ".query.a.operator.1": "1d"},
        {AFTER + ".query.a.operator.0": "1h", SPAN + ".query.b": "1d"},
        {AFTER + ".query.a": "1h", SPAN + ".operator.0": "1d", SPAN + ".query.a.operator.0": "1h"},
    ],
)
def test_spans_that_tasks_take_for_some_queries(settings: dict[str, str]) -> None:
    assert Conf.from_spark(settings).to_spark().items() >= settings.items()


@pytest.mark.parametrize(
    ("settings", "span", "after", "whom"),
    [
        ({AFTER + ".query.a": "1h", SPAN + ".query.a.operator.0": "2h"}, 1, 0, ""),
        ({AFTER + ".query.a.operator.0": "1h", SPAN + ".query.a": "2h"}, 1, 0, ""),
        ({AFTER + ".operator.0": "1h", SPAN + ".query.a.operator.0": "2h"}, 1, 0, ""),
        # They are for others, and meet in one operator.
        (
            {AFTER + ".query.a": "1h", SPAN + ".operator.0": "2h"},
            1,
            0,
            " for operator 0 of query 'a'",
        ),
        (
            {SPAN + ".query.a": "2h", AFTER: "1d", AFTER + ".operator.3": "1h"},
            0,
            2,
            " for operator 3 of query 'a'",
        ),
        # What is for the query hides what is for all.
        (
            {AFTER: "30d", AFTER + ".query.a": "1h", SPAN + ".query.a.operator.0": "2h"},
            2,
            1,
            "",
        ),
    ],
)
def test_a_span_that_no_task_of_some_queries_would_take(
    settings: dict[str, str], span: int, after: int, whom: str
) -> None:
    keys = list(settings)
    with pytest.raises(InvalidSettingError) as refusal:
        Conf.from_spark(settings)
    assert str(refusal.value) == (
        f"{keys[span]} is '2h', which is longer than {keys[after]}='1h'{whom}: state expires by "
        "whole spans, so make it a small part of that time, or leave it out."
    )


def test_settings_for_a_query_and_an_operator_of_it() -> None:
    month = Conf(time_bucket_expire_after="1h").for_query("a", time_bucket_expire_after="30d")
    month.for_query("a", operator=0, time_bucket_span="1d")
    hour = Conf().for_query("a", time_bucket_expire_after="1h")
    with pytest.raises(InvalidSettingError, match=r"span\.query\.a\.operator\.0 is '2h'"):
        hour.for_query("a", operator=0, time_bucket_span="2h")


def test_type_checkers_know_the_presets() -> None:
    assert set(get_args(PresetName)) == set(PRESETS)


def test_spans_that_tasks_take() -> None:
    for span, after in (("1h", "1h"), ("1s", "4000s"), ("auto", "30d")):
        Conf(time_bucket_span=span, time_bucket_expire_after=after)
