"""Answers the host's requests to this package; `acr.byte_fields` packs the fields of requests and answers."""

from __future__ import annotations

import json
import re

from acr.byte_fields import pack, unpack
from acr.grading import environments, rules, scripts
from acr.grading.classes import class_of, why_none_ran
from acr.grading.failures import classify
from acr.grading.parsers import UnknownParser, parser_of, reward_of
from acr.grading.scripts import FOLDER, UnknownProject, directives, project_of, script_of, test_command, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_TEXTS = ("instance_id", "repo", "version", "base_commit", "test_patch", "log_parser", "eval_script", "image")


def prepare(argument: bytes) -> bytes:
    """Row (JSON), rules -> script and image of the task, the command that runs all of the project's tests there ("":
    unknown), the project's folder there, and the branch to check out first ("": none); or only a message that says
    why it cannot be graded."""
    raw_row, version = unpack(argument)

    def describe(row: dict) -> list[str]:
        return [script_of(row, int(version)), image_of(row), test_command(row), folder_of(row), row.get("checkout", "")]

    return _answer(json.loads(raw_row), describe, None)


def environment(argument: bytes) -> bytes:
    """Row (JSON), rules, a user's recipes (JSON) -> the environment's key, Python, packages (one per line), and the
    command that installs the project; the script, the files that it restores (one per line), and the row as graded
    there; the test command with its variables; the same for the files of the hidden tests, and the tests that must
    fail (one per line); or a message."""
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
            environments.install_of(row, recipe),
        ]
        command, hidden = environments.test_command(recipe), environments.hidden_tests(row)
        files = words(directives(row))
        return [*environment, script, kept, graded, command, f"{command} {files}", "\n".join(hidden)]

    return _answer(json.loads(raw_row), describe, recipes)


def fault_of_recipes(argument: bytes) -> bytes:
    """A user's recipes (JSON) -> the first error in them, or nothing."""
    fault = environments.fault_of(json.loads(unpack(argument)[0]))
    return pack([fault.encode("utf-8", "replace")] if fault else [])


def _answer(row: dict, describe: Callable[[dict], list[str]], recipes: list[dict] | None) -> bytes:
    """The fields that `describe` makes from a gradable row, or only the reasons why the row cannot be graded; `recipes`
    is None if the row's tests run in an image."""
    try:
        row = {key: value for key, value in row.items() if value is not None}
        if row.get("fault"):
            return pack([str(row["fault"]).encode()])
        for key in _TEXTS:
            if not isinstance(row.get(key, ""), str):
                return pack([f'"{key}" of the row is not a string'.encode()])
        for key in (rules.FAIL_TO_PASS, rules.PASS_TO_PASS):
            if not _are_tests(row, key):
                return pack([f'"{key}" of the row is not a list of tests'.encode()])
        faults = _faults(row, recipes)
        return pack([text.encode() for text in ([faults] if faults else describe(row))])
    except KeyError as error:
        return pack([f'the row has no "{error.args[0]}"'.encode()])
    except (TypeError, ValueError, AttributeError, re.error) as error:
        return pack([f"the row is malformed: {type(error).__name__}: {error}".encode()])


def _faults(row: dict, recipes: list[dict] | None) -> str:
    """Everything that the row lacks, so that its author need not run the program once for each field; "": nothing."""
    has_script = recipes is None and (row.get("eval_script") or row.get("runs"))
    needs_patch = recipes is not None or (project_of(row) and not has_script)
    missing = [key for key in ("base_commit", "test_patch") if needs_patch and key not in row]
    if not rules.expected(row, rules.FAIL_TO_PASS):  # by the package's rules, any patch would resolve the task
        missing.append(rules.FAIL_TO_PASS)
    faults = ["the row has no " + ", ".join(f'"{key}"' for key in missing)] if missing else []
    place = scripts.specification if recipes is None else lambda row: environments.recipe_of(row, recipes)
    for find in (parser_of,) if has_script else (parser_of, place):
        try:
            find(row)
        except (UnknownParser, UnknownProject) as error:
            unknown = f"'{row.get('repo')}' is not a known project"  # said once
            is_said = any(fault.startswith(unknown) for fault in faults)
            faults.append(str(error).removeprefix(f"{unknown}: ") if is_said else str(error))
    return "; ".join(faults)


def _are_tests(row: dict, key: str) -> bool:
    try:
        tests = rules.expected(row, key)
        return (
            not isinstance(row.get(key), dict) and isinstance(tests, list) and all(isinstance(at, str) for at in tests)
        )
    except (TypeError, ValueError):
        return False


def folder_of(row: dict) -> str:
    """The project's folder in the image: as a row of another data set says, or the folder of SWE-bench's images."""
    runs = row.get("runs")
    return runs["begin"][-1].removeprefix("cd ") if runs else str(row.get("folder") or FOLDER)


def image_of(row: dict) -> str:
    """The name of the task's image: the row's own (5.x), or the name that version 4 or SWE-Gym publishes it under."""
    given = row.get("image")
    if isinstance(given, str) and given:
        return given
    name, pattern = str(row["instance_id"]).lower(), project_of(row).get("image", "swebench/sweb.eval.x86_64.{id_1776}")
    return pattern.format(id_1776=name.replace("__", "_1776_"), id_s=name.replace("__", "_s_")) + ":latest"


def grade(argument: bytes) -> bytes:
    """Row (JSON), rules, log -> report.json; the class of the failure, empty if the task is resolved; the reward of a
    Harbor task; the texts of why_none_ran, empty if a test ran."""
    raw_row, version, raw_log = unpack(argument)
    row, log = json.loads(raw_row), rules.read_log(raw_log)
    report = rules.report(row, "a patch", log, int(version))
    is_resolved = report[row["instance_id"]]["resolved"]
    failure = "" if is_resolved else class_of(row, log, report, int(version))
    reward = reward_of(log) if row.get("log_parser") == "parse_log_harbor" else None
    told = "" if reward is None else json.dumps(reward)
    why = why_none_ran(row, log, int(version)) if failure else ("", "")
    texts = [json.dumps(report, indent=4), failure, told, *why]
    return pack([text.encode() for text in texts])


def output(argument: bytes) -> bytes:
    """A log -> the part of it that a parser reads."""
    return pack([rules.output_of(rules.read_log(argument)).encode("utf-8", "replace")])


def failure(argument: bytes) -> bytes:
    """Logs -> reason and tier of the first sign of a fault in the environment; nothing if there is none."""
    found = classify("\n".join(rules.read_log(log) for log in unpack(argument)))
    return pack([field.encode() for field in found] if found else [])
