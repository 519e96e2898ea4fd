"""Every Python block of these pages runs, top to bottom."""

from __future__ import annotations

import sys
import types
from inspect import signature

import pytest

from bucketstate.cli import main
from tests.docs import DOCS, blocks, commands, run_blocks

pytestmark = pytest.mark.filterwarnings("ignore::bucketstate.stateful.RenamedFieldWarning")

PAGES = [
    "cookbook.md",
    "from-spark.md",
    "stateful.md",
    "testing.md",
    "what-it-costs.md",
    "which-setting.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_runs(page: str) -> None:
    assert blocks((DOCS / page).read_text(encoding="utf-8"))
    for name, made in vars(run_blocks(page)).items():
        # Those with parameters need Spark.
        if name.startswith("test_") and not signature(made).parameters:
            made()


def test_commands_that_check_functions_say_what_the_page_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (DOCS / "stateful.md").read_text(encoding="utf-8")
    found = commands(page)
    assert {name for name, *_ in found} == {"check"}
    for arguments in found:
        assert main(arguments) == 0
        assert f"```text\n{capsys.readouterr().out}```" in page


def test_what_needs_no_jvm_on_the_package_s_page_runs() -> None:
    page = DOCS.parent / "python" / "README.md"
    codes = [code for _, code in blocks(page.read_text(encoding="utf-8"))]
    alone = [code for code in codes if "SparkSession" not in code]
    assert [code.count("Harness(") for code in alone] == [1]
    module = types.ModuleType("package_page")
    sys.modules[module.__name__] = module
    try:
        exec(compile(alone[0], str(page), "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]


def test_only_python_blocks_are_taken_with_their_lines() -> None:
    found = blocks("text\n\n```python\nassert 1 == 2\n```\n\n```sh\nfalse\n```\n")
    assert found == [(3, "assert 1 == 2\n")]
