"""acr-host's AWS signatures equal those of botocore's SigV4Auth, for random paths, types and bodies."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import packages

CASES = 3000
SEED = 20150830
TIMEOUT_SECONDS = 120
BOTOCORE = "botocore==1.44.5"

# Signs the driver's input at the time that the case sets; prints the headers that botocore adds.
_ORACLE = """
import base64, datetime, json, sys
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

clock = None
botocore.auth.get_current_datetime = lambda *args, **kwargs: clock
for line in sys.stdin:
    case = json.loads(line)
    clock = datetime.datetime.fromtimestamp(case["time"], datetime.timezone.utc)
    body = case["body"]
    body = base64.b64decode(body["base64"]) if isinstance(body, dict) else body.encode()
    request = AWSRequest("POST", case["url"], data=body)
    request.headers.add_header("Content-Type", case["type"])
    keys = Credentials(case["access"], case["secret"], case["token"])
    botocore.auth.SigV4Auth(keys, case["service"], case["region"]).add_auth(request)
    names = ("X-Amz-Date", "X-Amz-Security-Token", "Authorization")
    print(json.dumps([f"{name}: {request.headers[name]}" for name in names if name in request.headers]))
"""

_PATH = "abzAZ09-._~:%/!$&'()*+,;=@[]|^ \u00e9\u2603"
_VALUE = "abc XYZ  \t0123,;=\"'/:%\u00e9"
_BASES = ("https://bedrock-runtime.us-east-1.amazonaws.com", "http://127.0.0.1:8080")
_MODELS = (
    "anthropic.claude-3-5-sonnet-20240620-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0",
    "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x-v1%3A0",
    "arn%3Aaws-cn%3Abedrock%3Acn-north-1%3A1%3Aapplication-inference-profile%2Fa%20b",
)


def _text(random_: random.Random, letters: str, most: int) -> str:
    return "".join(random_.choices(letters, k=random_.randrange(most)))


def _path(random_: random.Random) -> str:
    if random_.random() < 0.3:
        verb = random_.choice(["converse", "converse-stream"])
        return f"/model/{random_.choice(_MODELS)}/{verb}"
    segments = [
        "model",
        *(_text(random_, _PATH.replace("/", ""), 12).strip(".") or "x" for _ in range(random_.randrange(1, 6))),
    ]
    return "/" + "/".join(segments)


def _body(random_: random.Random) -> Any:
    if random_.random() < 0.5:
        return json.dumps({"messages": _text(random_, _VALUE, 200)})
    return {"base64": base64.b64encode(random_.randbytes(random_.randrange(300))).decode()}


def make_case(random_: random.Random) -> dict[str, Any]:
    """A request in the form that tests/drivers/sign_cases.c reads."""
    return {
        "access": "AKIDEXAMPLE" + _text(random_, "ABC123", 9),
        "secret": "k" + _text(random_, "abcXYZ019+/", 60),
        "token": random_.choice([None, "t" + _text(random_, "abcXYZ019+/=", 400)]),
        "region": random_.choice(["us-east-1", "eu-central-1", "cn-north-1"]),
        "service": random_.choice(["bedrock", "service"]),
        "url": random_.choice(_BASES) + _path(random_),
        "type": random_.choice(["application/json", "application/x-amz-json-1.0"]),
        "body": _body(random_),
        "time": random_.randrange(0, 4_000_000_000),
    }


def _run(command: list[str], lines: str) -> list[list[str]]:
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_signatures_equal_those_of_botocore(binary: Path) -> None:
    """Compares every header."""
    python = packages.pinned_python([BOTOCORE])
    random_ = random.Random(SEED)
    cases = [make_case(random_) for _ in range(CASES)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    ours = _run([str(binary.parent / "tests" / "sign_cases")], lines)
    theirs = _run([str(python), "-c", _ORACLE], lines)
    assert len(ours) == len(theirs) == CASES
    for case, our, their in zip(cases, ours, theirs):
        assert our == their, json.dumps(case)
