"""Tests of the servers for transport tests: a proxy that records what passes, and TLS with a private authority."""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from tls import ConnectProxy, ModelServer, make_authority  # noqa: E402

BODY = json.dumps({"model": "m"})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server without TLS."""
    with ModelServer() as made:
        yield made


def post(connection: http.client.HTTPConnection) -> str:
    """POST over the connection; return the model server's answer."""
    connection.request("POST", "/v1/chat/completions", BODY, {"Authorization": "Bearer k"})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_a_proxy_carries_bytes_to_names_that_it_knows_and_shows_them(server: ModelServer) -> None:
    with ConnectProxy({"model.invalid": server.port}) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        connection.set_tunnel("model.invalid", 443)
        assert server.content in post(connection)
    assert [head.split()[:2] for head in proxy.heads] == [["CONNECT", "model.invalid:443"]]
    assert b"Bearer k" in proxy.seen and b"Bearer k" not in proxy.heads[0].encode()
    assert [seen.body for seen in server.requests] == [{"model": "m"}]


def test_a_proxy_refuses_other_names_and_methods(server: ModelServer) -> None:
    with ConnectProxy({"model.invalid": server.port}) as proxy:
        for method, target in (("CONNECT", "other.invalid:443"), ("GET", "http://model.invalid/")):
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
            connection.request(method, target)
            assert connection.getresponse().status == proxy.refusal
            connection.close()
    assert len(proxy.heads) == 2 and server.connections == 0


def test_a_certificate_holds_for_its_authority_and_names_only(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "authority")
    with ModelServer(authority.server_context("127.0.0.1")) as server:
        trusting = ssl.create_default_context(cafile=str(authority.ca))
        for host, context, is_fine in (
            ("127.0.0.1", trusting, True),
            ("127.0.0.1", ssl.create_default_context(), False),
            ("localhost", trusting, False),
        ):
            connection = http.client.HTTPSConnection(host, server.port, timeout=10, context=context)
            if is_fine:
                assert server.content in post(connection)
            else:
                with pytest.raises(ssl.SSLCertVerificationError):
                    post(connection)
    assert len(server.requests) == 1
