"""A server that takes connections and never answers: a file system that cannot be reached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Silent:
    """Where it listens, and how to wait until somebody asks."""

    def __init__(self, port: int, asked: threading.Event) -> None:
        self.port = port
        self._asked = asked

    def wait(self) -> None:
        """Until somebody has connected."""
        assert self._asked.wait(30), "nobody has connected"

    def of(self, scheme: str) -> str:
        """A checkpoint on it, by a URI that pyarrow takes."""
        user = "anonymous@" if scheme == "gs" else ""
        region = "&region=here" if scheme == "s3" else ""
        at = f"endpoint_override=127.0.0.1:{self.port}&scheme=http"
        return f"{scheme}://{user}states/a/checkpoint?{at}{region}"


@contextmanager
def silent() -> Iterator[Silent]:
    """Listens on the loopback address, and ends with the block."""
    asked = threading.Event()
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                taken.append(connection)
                asked.set()

        threading.Thread(target=take, daemon=True).start()
        try:
            yield Silent(server.getsockname()[1], asked)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()
