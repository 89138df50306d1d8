"""How requests reach a model: TLS with a private authority, proxies from the environment, unix sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from host import Host, Result
from tls import Authority, ConnectProxy, ModelServer, make_authority

KEY = "sk-transport-0123456789abcdef"
NAME = "model.invalid"  # only the test's proxy can resolve it
CLEAN = {
    name: None
    for name in (
        *("SSL_CERT_FILE", "CURL_CA_BUNDLE", "NO_PROXY", "no_proxy", "http_proxy"),
        *("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "SSLKEYLOGFILE"),
    )
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A private authority."""
    return make_authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Another authority, which signs for no server."""
    return make_authority(tmp_path_factory.mktemp("tls") / "stranger")


@pytest.fixture
def server(authority: Authority) -> Iterator[ModelServer]:
    """A model server with TLS, for 127.0.0.1 and for NAME."""
    with ModelServer(authority.server_context("127.0.0.1", NAME)) as made:
        yield made


@pytest.fixture
def proxy(server: ModelServer) -> Iterator[ConnectProxy]:
    """A proxy that can resolve NAME."""
    with ConnectProxy({NAME: server.port}) as made:
        yield made


def ask(host: Host, base_url: str, *more: object, **changes: object) -> Result:
    """One question; of the caller's variables, the program gets only `changes`."""
    given: Mapping[str, Any] = changes
    env = CLEAN | {"OPENAI_API_KEY": KEY, "ACR_RETRY_BASE_MS": "1"}
    env |= {name: None if v is None else str(v) for name, v in given.items()}
    return host.run(*("ask", "--model", "openai/m", "--base-url", base_url, "--retries", 1), *(*more, "why?"), env=env)


def local(server: ModelServer) -> str:
    """The server's address on loopback."""
    return f"https://127.0.0.1:{server.port}/v1"


def check_answer(result: Result, server: ModelServer) -> None:
    """The answer was printed; the server was asked once, with the key."""
    assert result.check().out == server.content + "\n"
    assert result.err == "", result.told()
    assert [seen.path for seen in server.requests] == ["/v1/chat/completions"]
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def check_network(result: Result, server: ModelServer, code: int, *words: str) -> None:
    """One line that contains the words; nothing was sent, and neither key nor path is shown."""
    line = result.one_line(code, *words)
    assert result.out == ""
    assert KEY not in line and "/v1" not in line
    assert server.requests == []


def failure(result: Result, code: int) -> dict[str, Any]:
    """The object of a failed `ask --json`."""
    return json.loads(result.check(code).out)["error"]


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_a_private_authority_is_trusted_by_a_variable(
    host: Host, server: ModelServer, authority: Authority, variable: str
) -> None:
    check_answer(ask(host, local(server), **{variable: authority.ca}), server)


def test_ssl_cert_file_goes_before_curl_ca_bundle(
    host: Host, server: ModelServer, authority: Authority, stranger: Authority
) -> None:
    result = ask(*(host, local(server)), SSL_CERT_FILE=authority.ca, CURL_CA_BUNDLE=stranger.ca)
    check_answer(result, server)


@pytest.mark.parametrize("trusts_stranger", [False, True])
def test_an_unknown_authority_is_refused_before_anything_is_sent(
    host: Host, server: ModelServer, stranger: Authority, trusts_stranger: bool
) -> None:
    trusted = stranger.ca if trusts_stranger else None
    result = ask(host, local(server), "--verbose", SSL_CERT_FILE=trusted)
    words = ("certificate", f"127.0.0.1:{server.port}", "set SSL_CERT_FILE")
    check_network(result, server, 3, *words)  # and no second try is reported
    assert server.connections == 1
    told = failure(ask(host, local(server), "--json", SSL_CERT_FILE=trusted), 3)
    assert (told["class"], told["http_status"], told["attempts"]) == ("network", None, 1)
    assert server.requests == []


def test_a_certificate_for_another_name_is_refused(host: Host, authority: Authority) -> None:
    with ModelServer(authority.server_context("other.invalid")) as server:
        result = ask(host, local(server), SSL_CERT_FILE=authority.ca)
        check_network(result, server, 3, "name", "127.0.0.1")
        assert "SSL_CERT_FILE" not in result.err  # it would not help


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_certificates_that_are_not_there_are_named(host: Host, server: ModelServer, variable: str) -> None:
    result = ask(host, local(server), **{variable: "/nonexistent/ca.pem"})
    check_network(result, server, 3, variable, "'/nonexistent/ca.pem'")


def test_certificates_that_are_none_are_refused(host: Host, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate\n")
    result = ask(host, local(server), SSL_CERT_FILE=tmp_path / "ca.pem")
    check_network(result, server, 3, "ca.pem")


def test_secrets_of_tls_are_not_written_down(
    host: Host, server: ModelServer, authority: Authority, tmp_path: Path
) -> None:
    log = tmp_path / "keys.log"
    result = ask(*(host, local(server)), SSL_CERT_FILE=authority.ca, SSLKEYLOGFILE=log)
    check_answer(result, server)
    assert not log.exists() or log.read_bytes() == b""


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_is_used_and_sees_no_key(
    host: Host, server: ModelServer, proxy: ConnectProxy, authority: Authority, variable: str
) -> None:
    env = {variable: proxy.url, "SSL_CERT_FILE": authority.ca}
    check_answer(ask(host, f"https://{NAME}/v1", **env), server)
    assert len(proxy.heads) == 1
    assert proxy.heads[0].startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n")
    assert "authorization" not in proxy.heads[0].lower()
    assert len(proxy.seen) > 1000  # the tunnel used the proxy
    for secret in (KEY, "Bearer", "why?", "/v1/chat"):
        assert secret.encode() not in proxy.seen


def test_a_key_for_the_proxy_goes_to_the_proxy_alone(
    host: Host, server: ModelServer, proxy: ConnectProxy, authority: Authority
) -> None:
    url = proxy.url.replace("http://", "http://user:pass-for-proxy@")
    env = {"HTTPS_PROXY": url, "SSL_CERT_FILE": authority.ca}
    check_answer(ask(host, f"https://{NAME}/v1", **env), server)
    assert "\r\nProxy-Authorization: Basic " in proxy.heads[0]
    assert "Proxy-Authorization" not in server.requests[0].headers


def test_no_proxy_takes_a_host_out(host: Host, server: ModelServer, proxy: ConnectProxy, authority: Authority) -> None:
    env = {"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": authority.ca, "NO_PROXY": NAME}
    result = ask(host, f"https://{NAME}/v1", **env)
    check_network(result, server, 3, NAME)
    assert proxy.heads == []
    env["NO_PROXY"] = "another.invalid"
    check_answer(ask(host, f"https://{NAME}/v1", **env), server)


def test_loopback_is_never_reached_through_a_proxy(
    host: Host, server: ModelServer, proxy: ConnectProxy, authority: Authority
) -> None:
    env = {"HTTPS_PROXY": proxy.url, "ALL_PROXY": proxy.url, "SSL_CERT_FILE": authority.ca}
    check_answer(ask(host, local(server), **env), server)
    with ModelServer() as plain:
        result = ask(*(host, f"http://127.0.0.1:{plain.port}/v1"), http_proxy=proxy.url, ALL_PROXY=proxy.url)
        check_answer(result, plain)
    assert proxy.heads == []


def test_a_proxy_that_refuses_is_a_network_failure(host: Host, server: ModelServer, proxy: ConnectProxy) -> None:
    result = ask(host, "https://elsewhere.invalid/v1", HTTPS_PROXY=proxy.url)
    check_network(result, server, 3, "502")
    assert all(head.startswith("CONNECT elsewhere.invalid:443 ") for head in proxy.heads)
    assert KEY.encode() not in proxy.seen


def test_a_proxy_that_is_not_there_is_told(host: Host, server: ModelServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = ask(host, f"https://{NAME}/v1", "--json", HTTPS_PROXY=url)
    assert failure(result, 3)["class"] == "network"
    assert server.requests == []


@pytest.mark.parametrize("form", ["unix:{path}:/v1", "unix://{path}:/v1", "unix:{path}", "http+unix://{coded}/v1"])
def test_a_unix_socket_is_asked(host: Host, tmp_path: Path, form: str) -> None:
    path = tmp_path / "model.sock"
    with ModelServer(path=path) as server:
        url = form.format(path=path, coded=quote(str(path), safe=""))
        result = ask(host, url, ALL_PROXY="http://127.0.0.1:1")
        check_answer(result, server)
        assert server.requests[0].headers["Host"] == "localhost"


def test_a_unix_socket_that_is_not_there_is_told(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "none.sock"
    result = ask(host, f"unix:{path}:/v1", "--json")
    told = failure(result, 3)
    assert (told["class"], told["attempts"]) == ("network", 2)
    ask(host, f"unix:{path}:/v1").one_line(3, "none.sock")
