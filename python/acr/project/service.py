"""Answers the host's requests, in a confined process: JSON in, JSON out."""

from __future__ import annotations

import base64
import json
import re

from acr.grading import environments, recognise
from acr.project import commands, gone, import_folders, logs, nearest, set_ups
from acr.project import detect as detection

_MODULE = re.compile(r"No module named ['\"]?([\w.]+)")


def _decoded(value: object) -> str:
    """A text in the host's JSON; bytes that are not UTF-8 are decoded as far as possible."""
    if isinstance(value, dict):
        return base64.b64decode(value.get("base64", "")).decode("utf-8", "replace")
    return str(value or "")


def _texts(value: list) -> dict[str, str]:
    return {_decoded(path): _decoded(text) for path, text in value}


def wanted(argument: bytes) -> bytes:
    """Paths -> the paths of the files that `detect` needs."""
    return json.dumps(detection.wanted(list(map(_decoded, json.loads(argument)["paths"])))).encode()


def detect(argument: bytes) -> bytes:
    """{"paths", "texts": pairs of path and text, "given": a command or null} -> plans."""
    asked = json.loads(argument)
    paths = list(map(_decoded, asked["paths"]))
    if asked["given"] is None:
        return json.dumps(detection.detect(paths, _texts(asked["texts"]))).encode()
    plan = commands.given(asked["given"], frozenset(paths))
    return json.dumps([detection.with_paths(plan, paths, _texts(asked["texts"]))]).encode()


def settings(argument: bytes) -> bytes:
    """Paths -> the paths of the files that `folders` needs."""
    return json.dumps(import_folders.wanted(list(map(_decoded, json.loads(argument)["paths"])))).encode()


def folders(argument: bytes) -> bytes:
    """{"paths", "texts"} -> the folders from which the project's modules are imported."""
    asked = json.loads(argument)
    return json.dumps(import_folders.find(list(map(_decoded, asked["paths"])), _texts(asked["texts"]))).encode()


def set_up_files(argument: bytes) -> bytes:
    """Paths -> the paths of the files that `set_up_plans` needs."""
    return json.dumps(set_ups.files_of_set_ups(list(map(_decoded, json.loads(argument)["paths"])))).encode()


def set_up_plans(argument: bytes) -> bytes:
    """{"paths", "texts", "given": "network" or null} -> {"plans": [{"command", "why"}], "modules": names that tests import}."""
    asked = json.loads(argument)
    paths, texts = list(map(_decoded, asked["paths"])), _texts(asked["texts"])
    plans = set_ups.find_set_ups(paths, texts, has_network=asked["given"] is not None)
    return json.dumps({"plans": plans, "modules": set_ups.modules_of_tests(paths, texts)}).encode()


def recipe_files(argument: bytes) -> bytes:
    """The paths of the files that `recipe` needs, for any input."""
    return json.dumps(recognise.files_of_versions()).encode()


def recipe(argument: bytes) -> bytes:
    """{"paths", "texts", "given": a recipe's name or "auto"} -> the environment for this checkout, or {"fault": a line}."""
    asked = json.loads(argument)
    try:
        paths = list(map(_decoded, asked["paths"]))
        found, name, version = recognise.find_recipe(asked["given"], paths, _texts(asked["texts"]))
    except recognise.UnknownRecipe as error:
        return json.dumps({"fault": str(error)}).encode()
    answer = {
        "name": name,
        "key": environments.key_of(found),
        "python": found["python"],
        "packages": "\n".join(found["pip"]),
        "install": environments.install_of({"version": version}, found),
        "test": environments.test_command(found),
    }
    return json.dumps(answer).encode()


def order(argument: bytes) -> bytes:
    """{"changed", "texts"} -> test files, the nearest first."""
    asked = json.loads(argument)
    return json.dumps(nearest.order(list(map(_decoded, asked["changed"])), _texts(asked["texts"]))).encode()


def removed(argument: bytes) -> bytes:
    """{"gone", "before", "now": tests; "diff"} -> the tests that a patch removes."""
    asked = json.loads(argument)
    tests = [list(map(_decoded, asked[name])) for name in ("gone", "before", "now")]
    return json.dumps(gone.find_removed(*tests, _decoded(asked["diff"]))).encode()


def outcomes(argument: bytes) -> bytes:
    """{"parser", "log"} -> pairs of test and outcome."""
    asked = json.loads(argument)
    return json.dumps(list(logs.outcomes(asked["parser"], _decoded(asked["log"])).items())).encode()


def missing(argument: bytes) -> bytes:
    """{"text"} -> the modules that could not be imported."""
    found = _MODULE.findall(_decoded(json.loads(argument)["text"]))
    return json.dumps(sorted({name.split(".")[0] for name in found})).encode()
