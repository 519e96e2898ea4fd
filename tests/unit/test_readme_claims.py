"""Each number and each ratio that README's prose says is known, with what it rests on.

The table of figures is made by `python -m scripts.figures`: nothing of it is looked at here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"

KNOWN = {
    "Spark 4.0 to 4.3": "docs/compatibility.md",
    "JDK 17 or 21 (25 with Spark 4.2 and 4.3)": "docs/compatibility.md",
    "Python 3.11+": "docs/getting-started.md",
    "Two commands": "those below it",
    "Five minutes": "the page's title",
    "about 450 MB": "Makefile",
    "S3A": "a name",
    "S3 is written": "a name",
    "Three ways": "those below it",
    "One setting": "docs/turning-it-on.md",
    "Real-time mode** of Spark 4.3": "docs/limits.md",
    "with Spark 4.2 or newer": "docs/moving-in.md",
    "from Spark 4.2 on": "docs/transform-with-state.md",
    "checkpoint format 2": "docs/reliability.md",
    "On two cores": "docs/measurements.md",
    "one run of each": "docs/measurements.md",
    "maintained every ten batches": "docs/measurements.md",
    "is 1.3 times in the mean": "tests/unit/test_measured_pages.py",
    "Apache License 2.0": "LICENSE",
}
"""The words around a number, and where that is told or tested."""

_RATIOS = (
    r"twice|thrice|half|halves|times|third|quarter|fifth|sixth|eighth|tenth|twelfth|twentieth|"
    r"\w+(?:ieth|fold)|hundred|thousand|million|percent|double|triple"
)
_NUMBERS = r"two|three|four|five|six|seven|eight|nine|ten|dozen"
_CLAIM = re.compile(rf"\d[\d.,]*\d|\d|\b(?:{_RATIOS}|{_NUMBERS})s?\b|%", re.IGNORECASE)


def prose(text: str) -> str:
    """The page without what is made, code, and where links lead to."""
    text = re.sub(r"<!-- figures: .*?<!-- end of figures -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"``.*?``|`[^`\n]*`", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def unknown(text: str) -> list[str]:
    """The numbers and ratios that nothing is known of, with what is around them."""
    for words in KNOWN:
        text = re.sub(re.escape(words), "", text, flags=re.IGNORECASE)
    return [text[max(0, m.start() - 30) : m.end() + 20] for m in _CLAIM.finditer(text)]


def test_every_number_of_the_readme_is_known() -> None:
    """If not: say it in the table that figures make, or list it above with its source."""
    assert unknown(prose(README.read_text(encoding="utf-8"))) == []


def test_what_is_known_is_there() -> None:
    text = prose(README.read_text(encoding="utf-8")).lower()
    assert [words for words in KNOWN if words.lower() not in text] == []


@pytest.mark.parametrize(
    "claim", ["a twentieth of the time", "2.7 requests", "three times as fast", "40 %", "tenfold"]
)
def test_a_claim_is_found(claim: str) -> None:
    assert unknown(prose(f"It takes {claim}."))
