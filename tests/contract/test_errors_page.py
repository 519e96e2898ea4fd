"""docs/errors.md has every error that a user can meet, and no other.

Its part about Python is made of docstrings, which test_contracts.py holds it to.
"""

from __future__ import annotations

import json
import re
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pyspark
import pytest

from scripts.generate.errors import BEGIN, package_errors, tables, with_errors
from scripts.generate.marks import END
from tests.contract.public import public_names
from tests.kit.sparks import MINOR

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
PROVIDER = PAGE.partition("\n## The provider\n")[2]
SCALA = "\n".join(
    file.read_text(encoding="utf-8")
    for file in sorted((ROOT / "scala" / "src" / "main").rglob("*.scala"))
)

CONDITIONS = {
    "QueryExecutionErrors.cannotLoadStore": "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
    "QueryExecutionErrors.failedToCommitStateFileError": "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT",
    "QueryExecutionErrors.failedToReadStreamingStateFileError": (
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
    ),
    "QueryExecutionErrors.unexpectedStateStoreVersion": (
        "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION"
    ),
    "QueryExecutionErrors.unreleasedThreadError": (
        "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR"
    ),
    "StateStoreErrors.cannotCreateColumnFamilyWithReservedChars": (
        "STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS"
    ),
    "StateStoreErrors.cannotLoadStore": "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
    "StateStoreErrors.cannotUseColumnFamilyWithInvalidName": (
        "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME"
    ),
    "StateStoreErrors.invalidConfigChangedAfterRestart": (
        "STATE_STORE_INVALID_CONFIG_AFTER_RESTART"
    ),
    "StateStoreErrors.invalidStamp": "STATE_STORE_INVALID_STAMP",
    "StateStoreErrors.invalidStateMachineTransition": (
        "STATE_STORE_INVALID_STATE_MACHINE_TRANSITION"
    ),
    "StateStoreErrors.stateStoreOperationOutOfOrder": "STATE_STORE_OPERATION_OUT_OF_ORDER",
    "StateStoreErrors.unsupportedOperationException": "STATE_STORE_UNSUPPORTED_OPERATION",
    "StateStoreErrors.unsupportedOperationOnMissingColumnFamily": (
        "STATE_STORE_UNSUPPORTED_OPERATION_ON_MISSING_COLUMN_FAMILY"
    ),
}
"""The conditions of Spark's functions that the provider takes its errors from."""


def listed(text: str) -> list[str]:
    """What the rows of tables, and the items of lists, begin with."""
    return re.findall(r"^(?:\||-) `([\w.]+)`", text, re.MULTILINE)


def test_every_class_of_the_provider_s_errors_is_on_the_page() -> None:
    head = r"\bclass (\w+)\((?:(?!\bclass\b)[^{}])*?\bextends BucketstateException\("
    declared = re.findall(head, SCALA)
    assert re.search(r"sealed abstract class BucketstateException\b", SCALA)
    assert len(declared) >= 5
    found = [name for name in listed(PROVIDER) if name.endswith("Exception")]
    assert sorted(found) == sorted(["BucketstateException", *declared])


def test_every_condition_of_spark_s_that_the_provider_uses_is_on_the_page() -> None:
    used = set(re.findall(r"\b((?:StateStoreErrors|QueryExecutionErrors)\.[a-z]\w+)", SCALA))
    assert used == CONDITIONS.keys()
    found = [name for name in listed(PROVIDER) if not name.endswith("Exception")]
    assert sorted(found) == sorted(set(CONDITIONS.values()))


def spark_conditions() -> dict[str, Any]:
    folder = Path(pyspark.__file__).parent / "jars"
    (jar,) = folder.glob("spark-common-utils_2.13-*.jar")
    with zipfile.ZipFile(jar) as opened:
        found: dict[str, Any] = json.loads(opened.read("error/error-conditions.json"))
    return found


LATER = {"STATE_STORE_INVALID_STAMP", "STATE_STORE_INVALID_STATE_MACHINE_TRANSITION"}
"""Those that came with Spark 4.1; on 4.0 the provider has errors of its own under these names."""


@pytest.mark.parametrize("condition", sorted(set(CONDITIONS.values())))
def test_spark_knows_the_conditions_on_the_page(condition: str) -> None:
    if condition in LATER and MINOR == "4.0":
        pytest.skip("This condition came with Spark 4.1.")
    name, _, inner = condition.partition(".")
    known = spark_conditions()
    assert name in known
    assert not inner or inner in known[name]["subClass"]


def test_every_public_error_of_the_package_is_among_those_on_the_page() -> None:
    exported = {
        value
        for path in public_names()
        if isinstance(value := _value(path), type) and issubclass(value, Exception)
    }
    assert len(exported) > 10
    assert exported <= set(package_errors())
    python = PAGE.partition("\n## The provider\n")[0]
    assert sorted(listed(python)) == sorted(error.__name__ for error in package_errors())


def _value(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def test_an_error_that_does_not_say_what_to_do_is_refused() -> None:
    class SilentError(Exception):
        """Something is wrong.

        Raised at times.
        """

    with pytest.raises(ValueError, match="SilentError"):
        tables([SilentError])


def test_what_lies_between_the_marks_is_made_anew() -> None:
    page = f"before\n{BEGIN}\n| `GoneError` | | |\n{END}\nafter"
    made = with_errors(page)
    assert "GoneError" not in made
    assert made.startswith(f"before\n{BEGIN}\n")
    assert made.endswith(f"{END}\nafter")
    with pytest.raises(ValueError, match=r"docs/errors\.md"):
        with_errors("no marks")
