"""What the host asks of this package: fields in and out, as `acr.packing` has them."""

from __future__ import annotations

import json

from acr.grading import reports, rules
from acr.grading.failures import Failure, classify
from acr.grading.parsers import UnknownParser, parser_of
from acr.grading.scripts import UnknownProject, script_of
from acr.packing import pack, unpack


def prepare(argument: bytes) -> bytes:
    """Row (JSON), rules -> script and image of its task; or a message why it cannot be graded, alone."""
    raw_row, version = unpack(argument)
    row = json.loads(raw_row)
    try:
        parser_of(row)
        script = script_of(row, int(version))
        for key in (rules.FAIL_TO_PASS, rules.PASS_TO_PASS):
            if not all(isinstance(test, str) for test in rules.expected(row, key)):
                return pack([f'"{key}" is not a list of tests'.encode()])
    except (UnknownParser, UnknownProject) as error:
        return pack([str(error).encode()])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return pack([f"the row is malformed: {type(error).__name__}: {error}".encode()])
    return pack([script.encode(), image_of(row).encode()])


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
