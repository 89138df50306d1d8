"""acr-host's requests equal those of the official SDKs for the same calls, except for listed, intended differences."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from oracles import compare, ours, sdks
from oracles.differences import MEANT
from oracles.recorder import Recorder, Request
from tls import make_authority

GOLDENS = sdks.read_goldens()
CASES = [(client, call) for client in GOLDENS for call in GOLDENS[client]]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """The intercepting proxy."""
    made = Recorder(make_authority(tmp_path_factory.mktemp("tls") / "authority"))
    yield made
    made.stop()


def _differ(recorder: Recorder, client: str, call: str) -> dict[str, str]:
    request = ours.make(recorder, client, sdks.calls()[call])
    return compare.differences(GOLDENS[client][call], sdks.describe(request))


@pytest.mark.parametrize(("client", "call"), CASES)
def test_request_equals_the_sdks(recorder: Recorder, client: str, call: str) -> None:
    """Both requests have the same host, path, headers and body fields."""
    found = _differ(recorder, client, call)
    unmeant = {what: told for what, told in found.items() if not compare.row_for(client, what)}
    assert unmeant == {}


def test_every_listed_difference_is_there(recorder: Recorder) -> None:
    """A row that is no longer needed must be removed."""
    needed = set()
    for client, call in CASES:
        for what in _differ(recorder, client, call):
            needed.add(compare.row_for(client, what))
    assert [row for row in MEANT if row not in needed] == []


def test_goldens_are_what_the_sdks_send(recorder: Recorder) -> None:
    """The SDKs must send the golden requests again; ACR_UPDATE_GOLDENS=1 writes the files."""
    try:
        found = sdks.capture(recorder)
    except sdks.Unavailable as error:
        pytest.skip(str(error))
    if os.environ.get("ACR_UPDATE_GOLDENS"):
        sdks.write_goldens(found)
    assert found == sdks.read_goldens()


def _to_sign(request: Request) -> dict[str, Any]:
    """A recorded request in the form that sign.mjs reads."""
    signed = re.search(r"SignedHeaders=([^,]+)", request.header("authorization") or "")
    date = request.header("x-amz-date")
    assert signed and date and re.fullmatch(r"\d{8}T\d{6}Z", date)
    day, hour = f"{date[:4]}-{date[4:6]}-{date[6:8]}", f"{date[9:11]}:{date[11:13]}"
    return {
        "method": request.method,
        "host": request.host,
        "path": request.target,
        "headers": dict(request.headers),
        "signed": signed[1].split(";"),
        "body": request.body.decode(),
        "date": f"{day}T{hour}:{date[13:15]}Z",
    }


def test_the_aws_sdk_signs_our_requests_alike(recorder: Recorder) -> None:
    """The SDK's signer, given the request that was sent, computes our Authorization header."""
    requests = [ours.make(recorder, "bedrock", call) for name, call in sdks.calls().items() if name != "json"]
    try:
        folder = sdks.install()
    except sdks.Unavailable as error:
        pytest.skip(str(error))
    text = json.dumps([_to_sign(request) for request in requests])
    signatures = json.loads(sdks.node(folder, "sign.mjs", {}, text))
    sent = [request.header("authorization") for request in requests]
    squeezed = [[re.sub(r",\s*", ", ", value or "") for value in side] for side in (sent, signatures)]
    assert squeezed[0] == squeezed[1]
