"""Conf: what it accepts, what it refuses and how it says so."""

from dataclasses import FrozenInstanceError, asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import PROVIDER_CLASS, Conf, InvalidSettingError
from bucketstate.config import PROVIDER_KEY
from bucketstate.registry import registry

PREFIX = "spark.sql.streaming.stateStore.bucketed."

confs = st.builds(
    Conf,
    num_buckets=st.integers(1, 32768),
    lock_acquire_timeout=st.integers(1, 86_400_000),
    memory_max_bytes=st.one_of(
        st.just("auto"),
        st.integers(1, 90).map("{}%".format),
        st.integers(1, 1 << 30).map("{}m".format),
        st.integers(1 << 20, (1 << 63) - 1),
    ),
    memory_prevent_eviction_for=st.integers(0, 86_400_000),
)


@given(confs)
def test_what_spark_holds_gives_the_same_conf_back(conf: Conf) -> None:
    assert Conf.from_spark(conf.to_spark()) == conf


@given(confs)
def test_every_setting_and_the_provider_reach_spark_as_text(conf: Conf) -> None:
    settings = conf.to_spark()
    assert settings[PROVIDER_KEY] == PROVIDER_CLASS
    assert set(settings) == {PROVIDER_KEY} | {s.key for s in registry().settings}
    assert all(isinstance(text, str) for text in settings.values())


def test_settings_of_others_are_ignored() -> None:
    assert Conf.from_spark({"spark.sql.shuffle.partitions": "7"}) == Conf()


def test_a_conf_cannot_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Conf().num_buckets = 3  # type: ignore[misc]


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
        ("num_buckets", None),
        ("engine", "Heap"),
        ("engine", None),
        ("lock_acquire_timeout", 0),
        ("lock_acquire_timeout", "60s"),
        ("memory_max_bytes", "95%"),
        ("memory_max_bytes", 0.4),
        ("memory_max_bytes", 1024),
        ("memory_prevent_eviction_for", -1),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(field: str, value: Any) -> None:
    fields: dict[str, Any] = asdict(Conf()) | {field: value}
    with pytest.raises(InvalidSettingError, match="it must be"):
        Conf(**fields)


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
    ],
)
def test_an_unknown_key_names_the_nearest(given_key: str, meant: str) -> None:
    with pytest.raises(InvalidSettingError) as error:
        Conf.from_spark({PREFIX + given_key: "1"})
    assert f"did you mean {PREFIX}{meant}?" in str(error.value)
