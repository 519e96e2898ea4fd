"""Asks for every page outside of the project that the documentation links to.

python -m scripts.outside_links [PAGE ...]

Without pages it looks at all of the project. A link is dead if its server says that there is no
such page (404, 410) or refuses the address otherwise; its page and line are told, and the exit
code is 1. What cannot be reached from here, or is refused to programs, is told as not checked.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"(?:\]\(|^\[[^\]]+\]: |<)(https?://[^)\s>]+)", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_SECONDS = 10.0
_AT_ONCE = 4
_BYTES = 1 << 16
# Servers that have the page and do not give it to a program, or not now.
_NO_VERDICT = {401, 403, 408, 425, 429}
# Servers that do not know how to answer without the page.
_NO_HEAD = {405, 501}


class Link(NamedTuple):
    """An address, and where it stands."""

    page: Path
    line: int
    address: str


class Answer(NamedTuple):
    """What became of asking: `dead` is None where nobody can tell from here."""

    dead: bool | None
    said: str


def links(page: Path) -> list[Link]:
    """The links of a page that lead outside, but for those in code."""
    text = page.read_text(encoding="utf-8")
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
    return [Link(page, text[: m.start()].count("\n") + 1, m[1]) for m in _LINK.finditer(text)]


def asked(address: str, seconds: float = _SECONDS) -> Answer:
    """Asks for the head of a page, or for the page where a server knows no heads."""
    plain = address.partition("#")[0]
    for method in ("HEAD", "GET"):
        request = Request(plain, method=method, headers={"User-Agent": "bucketstate-links"})
        try:
            with urlopen(request, timeout=seconds) as answer:
                answer.read(_BYTES)
                return Answer(False, f"{answer.status}")
        except HTTPError as e:
            if method == "HEAD" and e.code in _NO_HEAD | {404}:
                continue
            verdict = None if e.code in _NO_VERDICT or e.code >= 500 else True
            return Answer(verdict, f"{e.code} {e.reason}")
        except URLError as e:
            return Answer(None, f"not reached: {e.reason}")
        except (OSError, HTTPException, ValueError) as e:
            return Answer(None, f"not reached: {e}")
    raise AssertionError("GET always ends")


def all_asked(addresses: Iterable[str], seconds: float = _SECONDS) -> dict[str, Answer]:
    """Each address once, a few at a time."""
    every = sorted(set(addresses))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(every, pool.map(lambda one: asked(one, seconds), every), strict=True))


def main(names: Sequence[str]) -> int:
    """The exit code: 0, or 1 if a link is dead or there is none to ask for."""
    pages = [Path(name) for name in names]
    pages = pages or sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    found = [link for page in pages for link in links(page)]
    if not found:
        print("There is no link that leads outside.", file=sys.stderr)
        return 1
    answers = all_asked(link.address for link in found)
    for link in found:
        if answers[link.address].dead:
            print(f"{link.page}:{link.line}: {link.address}: {answers[link.address].said}")
    unsure = Counter(
        f"{urlsplit(address).netloc}: {answer.said}"
        for address, answer in answers.items()
        if answer.dead is None
    )
    for said, times in sorted(unsure.items()):
        print(f"not checked, {times} of {said}")
    dead = sum(answer.dead is True for answer in answers.values())
    passed = sum(answer.dead is False for answer in answers.values())
    # The night's page takes lines like those of a test runner.
    print(f"===== {dead} failed, {passed} passed, {sum(unsure.values())} not checked =====")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
