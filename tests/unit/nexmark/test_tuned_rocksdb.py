"""The tuned RocksDB of Nexmark is that of the other benchmarks, but for how much memory it has."""

from __future__ import annotations

import re

from bucketstate_nexmark.runs.contenders import CONTENDERS
from tests.docs import DOCS

_IN_SCALA = re.compile(r'"spark\.sql\.streaming\.stateStore\.(rocksdb\.\w+(?:\.\w+)*)" -> "(\w+)"')


def _tuned() -> dict[str, str]:
    settings = CONTENDERS["rocksdb-tuned"].settings
    return {key: value for key, value in settings.items() if key != "providerClass"}


def test_a_query_of_pyspark_has_the_same_settings() -> None:
    text = (DOCS.parent / "python/bench/end_to_end.py").read_text(encoding="utf-8")
    found = re.search(r'"rocksdb-tuned": \{(.*?)\}', text, re.DOTALL)
    assert found
    assert dict(re.findall(r'"(rocksdb\.[\w.]+)": "(\w+)"', found[1])) == _tuned()


def test_a_store_without_a_query_has_the_same_settings() -> None:
    bench = DOCS.parent / "scala/bench/src/main/scala/io/bucketstate/bench"
    text = (bench / "Contender.scala").read_text(encoding="utf-8")
    of_rocksdb, of_tuned = (
        dict(_IN_SCALA.findall(found))
        for found in re.findall(r"val (?:rocksdb|tuned): Contender = (.*?)\n\n", text, re.DOTALL)
    )
    assert of_rocksdb | of_tuned == _tuned()
