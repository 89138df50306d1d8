"""Writes the reference pages docs/options.md and docs/files.md from the program's tables.

usage: reference.py PROGRAM ROOT [--check]; --check writes nothing, prints which pages are out of date, and exits with 1
if there is one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from write import EXITS, Row, help_of

GROUPS = ["Input", "Model", "Context", "Verification", "Sandbox", "Limits", "Output"]
_VARIABLES = [
    ("`NO_COLOR=1`, `CLICOLOR=0`", "No colours."),
    ("`CLICOLOR_FORCE=1`", "`search` prints colours to a pipe or file, too."),
    ("`PAGER`", "Shows long output on a terminal (default: `less`)."),
    ("`XDG_STATE_HOME`, `XDG_CACHE_HOME`, `XDG_CONFIG_HOME`", "Replace `~/.local/state`, `~/.cache` and `~/.config`."),
    ("`TMPDIR`", "The folder for temporary files."),
    ("`ACR_TRACE`", "Prints decisions and their reasons ([debugging](design/debugging.md))."),
]
MADE = "<!-- Written by tools/manual/reference.py from the program's tables; do not edit. -->"


def table(head: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a Markdown table; `head` has the names of the columns, separated by "|"."""
    columns = head.split("|")
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _said(option: Row) -> str:
    letter = f"`-{option['letter']}`, " if option["letter"] else ""
    return f"{letter}`--{option['name']}{' ' + option['argument'] if option['argument'] else ''}`"


def options_page(told: Row) -> Iterator[str]:
    """docs/options.md: exit codes, variables, and each option with the verbs that take it."""
    yield from ["# Options, variables and exit codes", "", MADE, ""]
    yield "This page lists every option of every verb, with its default. The last column names the verbs that have the option. `acr-host VERB --help` prints the options of one verb."
    yield from ["", "## Exit codes", "", *table("code|meaning", [(code, text) for code, text in EXITS])]
    yield from ["", "## Where a value comes from", ""]
    yield "An option on the command line takes precedence over an environment variable, which takes precedence over the configuration file"
    yield "`$XDG_CONFIG_HOME/acr-host/config`, by default `~/.config/acr-host/config`. `acr-host` reads no settings from the repository that it works on. `acr-host config VERB` prints the"
    yield "options of a verb that the file or a variable can set, with their values and sources."
    options = {option["name"]: option for verb in told["verbs"] for option in verb["options"]}
    able = {option["name"] for verb in told["verbs"] for option in verb["options"] if option["is_config"]}
    variables = [f"`{one['variable']}` (`--{name}`)" for name, one in options.items() if one["variable"]]
    yield from [
        "",
        "The file has lines `option = value`, such as `model = openai/gpt-4.1`, `setup-network = true` or `# a comment`. Repeat the line of an option that may be repeated. A line",
    ]
    yield "applies to each verb that has the option; other verbs ignore the line. The file may set these options:"
    yield ", ".join(f"`{name}`" for name in options if name in able) + "."
    yield from [
        "",
        f"These variables set options: {', '.join(variables)}. Headers are one per line. The [variables of model providers](#variables-of-model-providers) set keys and addresses.",
    ]
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for verb in told["verbs"]:
        for option in verb["options"]:
            verbs = rows.setdefault((option["group"], _said(option)), {})
            verbs.setdefault(help_of(option), []).append(verb["name"])
    everywhere = len(told["verbs"])
    for group in GROUPS:
        lines = [
            (said, text, "all" if len(verbs) == everywhere else ", ".join(verbs))
            for (its, said), helps in rows.items()
            if its == group
            for text, verbs in helps.items()
        ]
        yield from ["", f"## {group}", "", *table("option|what it does|verbs", lines)]
    lines = [
        (f"`{one['name']}/…`", *(", ".join(f"`{name}`" for name in one[key]) for key in ("keys", "addresses")))
        for one in told["providers"]
    ]
    yield from ["", "## Variables of model providers", ""]
    yield "acr-host uses the first variable that is set and not empty. [Models and money](models-and-money.md) lists further variables."
    yield from ["", *table("`--model`|key|address", lines)]
    yield from ["", "## Other variables", "", *table("variable|effect", _VARIABLES)]


def files_page(layout: str, schemas: dict[str, Row]) -> Iterator[str]:
    """docs/files.md: the files that the program leaves on disk, and the JSON that it prints."""
    yield from ["# Files and JSON", "", MADE, ""]
    yield "This page lists the files that runs, batches and evaluations leave on disk. In names, `N` stands for a number."
    for part in re.split(r"/\* ---- (?=.*? ---- \*/)", layout)[1:]:
        title = part.partition(" ---- ")[0]
        found = re.findall(
            r'#define ACR_(FILE|DIR)_\w+\s+(?:\\\s+)?(?:ACR_DIR_LOGS )?"([^"]+)"\s*/\* (.*?) \*/', part, re.S
        )
        lines = []
        for kind, name, text in found:
            numbered = re.sub("%[us]", "N", name.replace("%s.%s", "MODEL.RUN_ID"))
            shown = numbered.strip("/") + ("/" if kind == "DIR" else "")
            lines.append((f"`{shown}`", re.sub(r"\s*\n[\s*]*", " ", text)))
        yield from ["", f"## {title}", "", *table("name|what it holds", lines)]
    yield from ["", "## JSON", ""]
    yield "Each schema is installed to `share/acr-host/schemas` (in the source tree: `runtime/schemas`). Later versions may add members, but remove or rename none."
    yield from ["", *table("schema|what it describes", [(f"`{name}`", one["title"]) for name, one in schemas.items()])]
    yield from ["", "### Events", ""]
    yield "Each line of `run --events FILE` is an object with `event`, `time_ms` (milliseconds since 1970) and the members of this kind of event:"
    example = {"event": "stage", "time_ms": 1764345600000, "stage": "search", "attempt": 0, "number": 1}
    yield from ["", "```json", json.dumps(example), "```", ""]
    kinds = [
        (one["properties"], one["title"])
        for one in schemas["events.json"]["oneOf"]
        if "const" in one["properties"]["event"]
    ]
    yield from table(
        "`event`|members|what it says",
        [
            (
                f"`{each['event']['const']}`",
                ", ".join(f"`{name}`" for name in each if name not in ("event", "time_ms")),
                title,
            )
            for each, title in kinds
        ],
    )


def main(program: str, root: Path, is_check: bool) -> int:
    """Writes or checks both pages."""
    told = json.loads(subprocess.run([program, "describe"], check=True, capture_output=True).stdout)
    schemas = {
        path.name: json.loads(path.read_text("utf-8")) for path in sorted((root / "runtime/schemas").glob("*.json"))
    }
    layout = (root / "runtime/layout/layout.h").read_text("utf-8")
    pages = {"docs/options.md": options_page(told), "docs/files.md": files_page(layout, schemas)}
    stale = 0
    for name, lines in pages.items():
        text, path = "\n".join(lines) + "\n", root / name
        if is_check and (not path.is_file() or path.read_text("utf-8") != text):
            print(f"{name}: is out of date; run tools/manual/reference.py PROGRAM ROOT")
            stale += 1
        elif not is_check:
            path.write_text(text, "utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), "--check" in sys.argv[3:]))
