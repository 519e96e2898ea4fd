"""Links that lead outside: what is found on a page, and what becomes of asking."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts import outside_links


class Answering(BaseHTTPRequestHandler):
    """Answers with the number that the path has; `/get-only` knows no HEAD."""

    def do_HEAD(self) -> None:
        self._answer(405 if self.path == "/get-only" else int(self.path[1:]))

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/get-only" else int(self.path[1:]))

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: tests are quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize(
    ("path", "dead"),
    [
        ("200", False),
        ("get-only", False),
        ("404", True),
        ("410", True),
        ("403", None),
        ("503", None),
    ],
)
def test_what_a_server_says_is_what_a_link_is(server: str, path: str, dead: bool | None) -> None:
    assert outside_links.asked(f"{server}/{path}#place").dead is dead


def test_who_cannot_be_reached_is_not_dead() -> None:
    answer = outside_links.asked("http://nobody.invalid/", seconds=2)
    assert answer.dead is None
    assert answer.said.startswith("not reached: ")


def test_links_are_found_with_their_lines_and_not_in_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "[a](https://one.example/x#y) [b](other.md)\n`[c](https://code.example/)`\n"
        "```sh\ncurl [d](https://code.example/)\n```\n\n[e]: https://two.example/\n"
        "<https://three.example/>\n"
    )
    assert [(link.line, link.address) for link in outside_links.links(page)] == [
        (1, "https://one.example/x#y"),
        (7, "https://two.example/"),
        (8, "https://three.example/"),
    ]


def test_a_dead_link_is_told_with_page_and_line(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"\n[a]({server}/404) [b]({server}/200) [c]({server}/503)\n")
    assert outside_links.main([str(page)]) == 1
    said = capsys.readouterr().out
    assert f"{page}:2: {server}/404: 404 Not Found\n" in said
    assert "not checked, 1 of 127.0.0.1:" in said
    assert "===== 1 failed, 1 passed, 1 not checked =====" in said
    page.write_text(f"[b]({server}/200)\n")
    assert outside_links.main([str(page)]) == 0
    page.write_text("nothing\n")
    assert outside_links.main([str(page)]) == 1


def test_the_projects_pages_have_links_that_lead_outside() -> None:
    assert outside_links.links(outside_links.ROOT / "docs" / "comparison.md")
