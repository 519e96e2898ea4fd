"""Properties files: what is written is what is read, and what Java would read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import PLUGIN_CLASS, Conf
from bucketstate.config import PROVIDER_KEY
from bucketstate.properties import line, parsed

PRESET = Path(__file__).resolve().parents[2] / "conf" / "spark-defaults.conf"


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_what_is_written_is_what_is_read(settings: dict[str, str]) -> None:
    assert parsed("\n".join(line(key, value) for key, value in settings.items())) == settings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("# no=1\n  ! no=2\n\n \t\na=1", {"a": "1"}),
        ("a=1\na = 2", {"a": "2"}),
        ("a   1", {"a": "1"}),
        ("a : 1=2", {"a": "1=2"}),
        ("  a\t=\f1  ", {"a": "1  "}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a=one,\\\n    two\nb=3", {"a": "one,two", "b": "3"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=one\\\r\n#two", {"a": "one#two"}),
        ("a=one\\", {"a": "one"}),
        (r"a\ b\=\:=\u0041\t\q", {"a b=:": "A\tq"}),
    ],
)
def test_it_is_read_as_java_reads_it(text: str, found: dict[str, str]) -> None:
    assert parsed(text) == found


def test_the_project_s_own_file() -> None:
    found = {key: text.strip() for key, text in parsed(PRESET.read_text("utf-8")).items()}
    expected = {"spark.plugins": PLUGIN_CLASS, **Conf.defaults().to_spark()}
    # The plugin names it.
    del expected[PROVIDER_KEY]
    assert found == expected
