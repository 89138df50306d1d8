"""Runs test servers in a thread."""

from __future__ import annotations

import socketserver
import threading
from typing import TypeVar

_Self = TypeVar("_Self", bound="Serving")


def serve(server: socketserver.BaseServer) -> None:
    """Start serving; `stop` ends it."""
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()


def stop(server: socketserver.BaseServer) -> None:
    """Stop serving, and close the port."""
    server.shutdown()
    server.server_close()


class Serving:
    """A context manager around `_server`, which serves within the context."""

    _server: socketserver.BaseServer

    def __enter__(self: _Self) -> _Self:
        serve(self._server)
        return self

    def __exit__(self, *_: object) -> None:
        stop(self._server)
