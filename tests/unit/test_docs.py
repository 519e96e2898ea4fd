"""Every Python block of these pages runs, top to bottom."""

from __future__ import annotations

import pytest

from tests.docs import DOCS, blocks, run_blocks

PAGES = ["stateful.md", "testing.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_runs(page: str) -> None:
    assert blocks((DOCS / page).read_text(encoding="utf-8"))
    run_blocks(page)


def test_only_python_blocks_are_taken_with_their_lines() -> None:
    found = blocks("text\n\n```python\nassert 1 == 2\n```\n\n```sh\nfalse\n```\n")
    assert found == [(3, "assert 1 == 2\n")]
