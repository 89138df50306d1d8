"""What the host asks of this package: fields in and out, as `acr.packing` has them."""

from __future__ import annotations

import json
import re

from acr.grading import environments, reports, rules
from acr.grading.failures import Failure, classify
from acr.grading.parsers import UnknownParser, parser_of
from acr.grading.scripts import UnknownProject, script_of
from acr.packing import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def prepare(argument: bytes) -> bytes:
    """Row (JSON), rules -> script and image of its task; or a message why it cannot be graded, alone."""
    raw_row, version = unpack(argument)
    return _answer(json.loads(raw_row), lambda row: [script_of(row, int(version)), image_of(row)])


def environment(argument: bytes) -> bytes:
    """Row (JSON), rules, a user's recipes (JSON) -> of its environment: key, Python, packages, one a line, and the command that
    installs the project; script, the files that it puts back, one a line, and the row as it is graded there; or a message.
    """
    raw_row, version, own = unpack(argument)
    recipes = json.loads(own) if own else []

    def describe(row: dict) -> list[str]:
        recipe = environments.recipe_of(row, recipes)
        script = environments.script_of(row, recipe, int(version))
        kept = "\n".join(environments.kept_files(row))
        graded = json.dumps(environments.without_excluded(row, recipe))
        environment = [
            environments.key_of(recipe),
            recipe["python"],
            "\n".join(recipe["pip"]),
            recipe.get("install", ""),
        ]
        return [*environment, script, kept, graded]

    return _answer(json.loads(raw_row), describe)


def _answer(row: dict, describe: Callable[[dict], list[str]]) -> bytes:
    """What `describe` makes of a row that can be graded, or the reason why it cannot, alone."""
    try:
        parser_of(row)
        for key in (rules.FAIL_TO_PASS, rules.PASS_TO_PASS):
            if not all(isinstance(test, str) for test in rules.expected(row, key)):
                return pack([f'"{key}" is not a list of tests'.encode()])
        return pack([text.encode() for text in describe(row)])
    except (UnknownParser, UnknownProject) as error:
        return pack([str(error).encode()])
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        return pack([f"the row is malformed: {type(error).__name__}: {error}".encode()])


def image_of(row: dict) -> str:
    """The image that holds the task: the row's own (5.x), or as version 4 calls the published one."""
    given = row.get("image")
    if isinstance(given, str) and given:
        return given
    name = str(row["instance_id"]).lower().replace("__", "_1776_")
    return f"swebench/sweb.eval.x86_64.{name}:latest"


def grade(argument: bytes) -> bytes:
    """Row (JSON), rules, log -> report.json, and whether it says "resolved" ("1", "")."""
    raw_row, version, raw_log = unpack(argument)
    row = json.loads(raw_row)
    report = rules.report(row, "a patch", rules.read_log(raw_log), int(version))
    is_resolved = report[row["instance_id"]]["resolved"]
    return pack([json.dumps(report, indent=4).encode(), b"1" if is_resolved else b""])


def failure(argument: bytes) -> bytes:
    """Logs -> reason and tier of the first sign that the environment is at fault; nothing without one."""
    found = classify("\n".join(rules.read_log(log) for log in unpack(argument)))
    return pack([field.encode() for field in found] if found else [])


def final(argument: bytes) -> bytes:
    """Tasks, endings, failures, engine (JSON), rules -> the final report's text, indented and on one line."""
    raw, version = unpack(argument)
    given = json.loads(raw)
    failures = {task: Failure(*found) for task, found in given["failures"].items()}
    report = reports.final(given["tasks"], given["endings"], failures, int(version), given["engine"])
    return pack([json.dumps(report, indent=4).encode() + b"\n", json.dumps(report).encode()])
