"""A comment's first sentence can be read alone, as an editor shows it, and each paragraph's too.

They have subjects of their own: none begins with "The same", "Of" or "Who", and none is only
"As ... does". Nowhere does a comment say "who" without a noun: it is "whoever", or what is meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / "scala" / "src" / "main", ROOT / "python" / "src"]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

_SCALADOC = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
_MARGIN = re.compile(r"^\s*\* ?", re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n\s*\n")
# What stands before a colon is read alone, too.
_SENTENCE = re.compile(r".*?[.:;](?=\s|$)", re.DOTALL)
_LEANING = re.compile(r"The same\b|Of\b|Who\b|As\b[^,]*$")
_WITHOUT_NOUN = re.compile(r"(?:(?:^|[.:;] )Who|\b(?:by|for|from|of|than|to|with) who|[.:;] who)\b")


def found() -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for source in SOURCES
        for path in sorted([*source.rglob("*.scala"), *source.rglob("*.py")])
        for line, sentence in complaints(path.suffix, path.read_text(encoding="utf-8"))
    ]


def complaints(suffix: str, text: str) -> list[tuple[int, str]]:
    comments = of_scala(text) if suffix == ".scala" else of_python(text)
    said = [
        (line, " ".join(paragraph.split()))
        for line, comment in comments
        for paragraph in _PARAGRAPHS.split(comment)
    ]
    leaning = [(line, first_sentence(words)) for line, words in said]
    return [
        *((line, sentence) for line, sentence in leaning if _LEANING.match(sentence)),
        *((line, f"... {m[0]} ...") for line, words in said if (m := _WITHOUT_NOUN.search(words))),
    ]


def of_scala(text: str) -> Iterator[tuple[int, str]]:
    for match in _SCALADOC.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, _MARGIN.sub("", match[1])


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings, and the strings behind fields."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def first_sentence(words: str) -> str:
    sentence = _SENTENCE.match(words)
    return sentence[0] if sentence else words


def test_every_first_sentence_has_a_subject_of_its_own() -> None:
    """If not: say what it is that the comment is about."""
    assert found() == []


def test_no_page_says_who_without_a_noun() -> None:
    """If it does: say "whoever", or what is meant."""
    texts = {page.name: " ".join(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert {name: m[0] for name, text in texts.items() if (m := _WITHOUT_NOUN.search(text))} == {}


def test_a_sentence_that_leans_on_another_one_is_found() -> None:
    scala = (
        "/** Of a family. */\n\n  /**\n   * The same\n   * again.\n   */\n/** A family. Of two. */"
    )
    assert complaints(".scala", scala) == [(1, "Of a family."), (3, "The same again.")]
    paragraphs = "/**\n * A file.\n *\n * Of an open one, the index.\n *\n * It is closed.\n */"
    assert complaints(".scala", paragraphs) == [(1, "Of an open one, the index.")]
    python = 'A = 1\n"""As Spark has it."""\n\n\ndef f():\n    """As in Spark, it is one."""\n'
    assert complaints(".py", python) == [(2, "As Spark has it.")]
    assert complaints(".py", '"""It is one.\n\nThe same as before.\n"""') == [
        (1, "The same as before.")
    ]


def test_somebody_without_a_noun_is_found() -> None:
    assert complaints(".scala", "/** A file. It is closed by who opened it. */") == [
        (1, "... by who ...")
    ]
    assert (
        complaints(".scala", "/** A file, and who may read it. Whoever does, closes it. */") == []
    )
