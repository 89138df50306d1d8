"""Bedrock with the keys and settings of a user's AWS files; the strict server verifies the signatures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host import Host

sys.path.append(str(Path(__file__).resolve().parents[1]))

from servers.bedrock import ACCESS, REGION, TOKEN, Bedrock  # noqa: E402
from servers.dialect import TEXT  # noqa: E402
from servers.play import Play  # noqa: E402
from servers.strict import KEY, StrictServer  # noqa: E402

CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = f"arn:aws:bedrock:{REGION}:123456789012:application-inference-profile/a1b2"
URL = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"


@pytest.fixture
def server() -> Iterator[StrictServer]:
    """It requires signatures, and knows two models."""
    plays = {name: (Play(),) for name in (CLAUDE, ARN)}
    with StrictServer(plays, [Bedrock(KEY, signed=True)]) as made:
        yield made


def write_files(home: Path, profile: str) -> None:
    """Write the keys and the region of a profile to the files that AWS's tools use."""
    section = profile if profile == "default" else f"profile {profile}"
    keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": KEY, "aws_session_token": TOKEN}
    lines = "".join(f"{name} = {value}\n" for name, value in keys.items())
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(f"[other]\naws_access_key_id = x\n[{profile}]\n{lines}")
    (home / ".aws" / "config").write_text(f"[{section}]\nregion = {REGION}\noutput = json\n")


@pytest.mark.parametrize("model", [CLAUDE, ARN])
@pytest.mark.parametrize("profile", ["default", "work"])
def test_files_of_the_user_are_enough(host: Host, server: StrictServer, profile: str, model: str) -> None:
    """Keys, token and region come from the profile, and the model's name is one segment of the path."""
    write_files(host.home, profile)
    env = {URL: server.root, "AWS_PROFILE": None if profile == "default" else profile}
    result = host.run("ask", "--model", f"bedrock/{model}", "--json", "hi", env=env).check()
    said = json.loads(result.stdout)
    assert (said["content"], said["model"]) == (TEXT, model)  # Bedrock's answers do not name the model
    assert server.violations == []
    assert [request.model for request in server.requests] == [model]


def test_a_wrong_secret_is_refused_once(host: Host, server: StrictServer) -> None:
    """The class is auth, and no message shows the secret or the token."""
    write_files(host.home, "default")
    secret = "never-shown-0123456789+/="
    env = {URL: server.root, "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": secret}
    env["AWS_SESSION_TOKEN"] = TOKEN
    result = host.run("ask", "--model", f"bedrock/{CLAUDE}", "--json", "hi", env=env).check(3)
    assert json.loads(result.stdout)["error"]["class"] == "auth"
    assert len(server.requests) == 1
    assert secret not in result.out + result.err and TOKEN not in result.out + result.err


@pytest.mark.parametrize("base", [True, False])
def test_without_a_key_nothing_is_asked(host: Host, server: StrictServer, base: bool) -> None:
    """The exit code is 3, and the message names the variables."""
    env = {URL: server.root, "AWS_REGION": REGION} if base else {}
    result = host.run("ask", "--model", f"bedrock/{CLAUDE}", "hi", env=env)
    result.one_line(3, "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    assert server.connections == 0
