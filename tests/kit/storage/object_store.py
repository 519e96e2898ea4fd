"""S3 for a test: moto's server, and a proxy in front of it that fails now and then."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUCKET = "states"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


@contextmanager
def moto() -> Iterator[int]:
    """The port of a server on the loopback address, which ends with the block."""
    # It takes whichever port is free, and tells: one looked up before may be another's by then.
    command = [sys.executable, "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | CREDENTIALS,
        text=True,
    )
    assert process.stderr is not None
    # It tells each request, too, and would wait for who reads that.
    reader = threading.Thread(target=deque, args=(process.stderr, 0))
    try:
        port = _told_port(process.stderr)
        reader.start()
        yield port
    finally:
        process.terminate()
        process.wait(30)
        if reader.ident is not None:
            reader.join()
        process.stderr.close()


def _told_port(lines: Iterable[str]) -> int:
    said = ""
    for line in lines:
        said += line
        if found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise AssertionError(f"moto's server has ended: is moto[server] installed?\n{said}")


@dataclass
class Faults:
    """Each so many-th answer to a GET is an error 503, or ends in its middle; 0 is never.

    With `once` it is so once for each object: a client that tries again, which gives up after a
    few times, gets through.
    """

    unavailable: int = 0
    cut: int = 0
    once: bool = False
    happened: dict[str, int] = field(default_factory=dict)
    _gets: int = 0
    _failed: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, path: str) -> str:
        with self._lock:
            self._gets += 1
            kind = ""
            if self.once and path in self._failed:
                pass
            elif self.unavailable and self._gets % self.unavailable == 0:
                kind = "unavailable"
            elif self.cut and self._gets % self.cut == 0:
                kind = "cut"
            if kind:
                self._failed.add(path)
            self.happened[kind] = self.happened.get(kind, 0) + 1
            return kind


@contextmanager
def proxy(port: int, faults: Faults) -> Iterator[int]:
    """The port of a proxy in front of a server on the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            fault = faults.next(self.path) if self.command == "GET" else ""
            if fault == "unavailable":
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            server = http.client.HTTPConnection("127.0.0.1", port)
            server.request(self.command, self.path, headers=dict(self.headers))
            answer = server.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else len(body)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if fault == "cut":
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)
            server.close()

        do_GET = do_HEAD = _forward  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield int(httpd.server_address[1])
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
