"""Lists the tests that cover each folder of the program, the cheapest kinds first. Names are those of ctest; in
brackets are the tests that pytest's -k selects. An entry for a part of a folder overrides the folder's entry.

`units` run first, then `corpora`, then both again with sanitizers, then `programs`, sorted by measured time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SLOW_SANITIZED = {"unit/patch", "unit/py"}  # omitted, because each takes a minute


class Room(NamedTuple):
    """The tests of one folder: names without their prefix, separated by blanks."""

    units: str
    corpora: str = ""
    programs: str = ""


ROOMS = {
    "native/base": Room("base journal money", "json", "e2e/ask e2e/workers e2e/interrupts e2e/sample"),
    "native/http": Room("http llm", "http", "e2e/transport e2e/ask e2e/client_options"),
    "native/journal": Room("journal task", "journal", "e2e/replay e2e/resume e2e/bad_folders e2e/kill"),
    "native/vcs": Room("vcs sandbox", "diff_apply", "e2e/untouched e2e/sample e2e/bad_folders"),
    "native/vcs/branch": Room("vcs", "", "e2e/pull_request"),
    "native/index": Room("index search", "rows cache", "e2e/workers e2e/index e2e/cache"),
    "native/search": Room("search", "search calls", "e2e/verbs e2e/sample e2e/search_words e2e/mcp e2e/extensions"),
    "native/spectrum": Room("spectrum", "", "e2e/localize"),
    "native/patch": Room("patch", "patch diff", "e2e/verbs e2e/sample"),
    "native/sandbox": Room(
        "sandbox",
        "",
        "e2e/python_choice e2e/verify_edges e2e/sandbox[bubblewrap and not user] e2e/sandbox_fallbacks e2e/sandbox_hostile e2e/setup e2e/sandbox[user]",
    ),
    "native/sandbox/confine": Room("sandbox", "", "e2e/host_imports e2e/workers"),
    "native/sandbox/plain": Room("sandbox", "", "e2e/sandbox[plain] e2e/sandbox_fallbacks"),
    "native/sandbox/container": Room(
        "sandbox",
        "engine frames",
        "e2e/sandbox_hostile[engine or stream or exit_code or container] e2e/verify_engine e2e/sandbox[podman]",
    ),
    "native/sandbox/tar": Room("sandbox", "engine", "e2e/verify_engine e2e/sandbox[podman]"),
    "native/money": Room("money llm", "prices ledger", "e2e/ask e2e/ceiling"),
    "native/llm": Room(
        "llm",
        "anthropic bedrock eventstream failure gemini openai responses sse",
        "e2e/ask e2e/bedrock e2e/live_server e2e/batch_pause e2e/ask_faults e2e/secrets e2e/tools e2e/gateway",
    ),
    "runtime/py": Room(
        "py", "calls", "e2e/lint e2e/host_imports e2e/sample e2e/workers e2e/interrupts e2e/bounds[whatever_encoding]"
    ),
    "runtime/py/grading": Room("py", "", "python/grading e2e/eval_together e2e/eval_shards"),
    "runtime/agents": Room(
        "agents loops", "review script", "e2e/sample e2e/reproduce e2e/verify_edges e2e/tools e2e/dead_ends"
    ),
    "runtime/loops": Room(
        "loops",
        "verdict",
        "e2e/sample e2e/verify_edges e2e/reproduce e2e/small_window e2e/verify e2e/verify_run e2e/verify_engine"
        " e2e/selection e2e/regressions e2e/dead_ends e2e/tools e2e/extensions",
    ),
    "runtime/task": Room(
        "task batch",
        "",
        "e2e/sample e2e/resume e2e/replay e2e/configuration e2e/bad_folders e2e/verbs e2e/ceiling e2e/verify_run e2e/swe_bench"
        " e2e/secrets e2e/untouched e2e/small_window e2e/selection e2e/regressions e2e/watch e2e/extensions",
    ),
    "runtime/task/live": Room("task batch", "", "e2e/watch"),
    "runtime/task/origin": Room("task", "", "e2e/verbs e2e/pull_request"),
    "runtime/task/plan": Room("task", "", "e2e/doctor e2e/bad_folders"),
    "runtime/batch": Room("batch", "", "e2e/swe_bench e2e/batch_pause e2e/eval_shards e2e/watch"),
    "runtime/eval": Room("", "", "e2e/eval e2e/eval_trust e2e/eval_shards python/grading"),
    "runtime/extensions": Room("", "", "e2e/extensions"),
    "runtime/project": Room("", "", "e2e/project_tests e2e/regressions e2e/localize"),
    "runtime/serve": Room("", "", "e2e/mcp e2e/mcp_http"),
    "runtime/report": Room("verbs", "", "e2e/report e2e/pull_request e2e/swe_bench e2e/eval_shards"),
    "runtime/verbs": Room(
        "verbs",
        "",
        "e2e/verbs e2e/ask e2e/configuration e2e/sample e2e/first_minute e2e/doctor e2e/search_words e2e/display e2e/report"
        " e2e/pull_request e2e/watch e2e/extensions e2e/sandbox",
    ),
}


def room_of(path: str) -> Room:
    """The tests of a file: those of the longest entry that is a prefix of its path."""
    return ROOMS[max((name for name in ROOMS if path.startswith(name)), key=len)]


def stages(room: Room) -> list[tuple[str, list[str]]]:
    """(build, names of its tests), in the order in which they run."""
    units = [f"unit/{name}" for name in room.units.split()]
    corpora = [f"fuzz/{name}" for name in room.corpora.split()]
    sanitized = [f"asan/{name}" for name in [*units[:1], *corpora] if name not in SLOW_SANITIZED]
    programs = re.findall(r"\S+?\[[^]]*\]|\S+", room.programs)
    return [("plain", units), ("plain", corpora), ("asan", sanitized), ("plain", programs)]


def target(test: str) -> str:
    """The build target of a test."""
    kind, _, name = test.removeprefix("asan/").partition("/")
    return {"unit": f"test_{name}", "fuzz": f"fuzz_{name}"}.get(kind, "acr-host")
