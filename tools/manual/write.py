"""Writes the manual pages and the completions of bash, zsh and fish from the program's own table of options.

usage: write.py PROGRAM FOLDER; the same program gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
EXITS = [
    ("0", "a patch (or result) was produced, and nothing rejected it"),
    ("1", "there is none, or it was rejected"),
    ("2", "wrong usage"),
    ("3", "the environment lacks something: a tool, a key, a repository"),
    ("4", "a ceiling of money, tokens or time was reached"),
    ("130", "interrupted; rerun the same command to resume"),
]


# ---- Manual pages ----


def roff(text: str) -> str:
    """Text as roff: a line that begins with a control character is protected."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\\&" + escaped if escaped[:1] in ".'" else escaped


def _help_of(option: Row) -> str:
    more = f" (default {option['default']})" if option["default"] else ""
    more += f"; also by the variable {option['variable']}" if option["variable"] else ""
    return option["help"] + more + "."


def _options(options: list[Row]) -> Iterator[str]:
    for option in options:
        letter = f"\\fB\\-{option['letter']}\\fR, " if option["letter"] else ""
        argument = f" \\fI{roff(option['argument'])}\\fR" if option["argument"] else ""
        yield f".TP\n{letter}\\fB\\-\\-{roff(option['name'])}\\fR{argument}\n{roff(_help_of(option))}\n"


def _page(name: str, version: str, summary: str, body: str) -> str:
    head = f'.TH {name.upper()} 1 "" "acr-host {version}" "User Commands"\n'
    exits = "".join(f".TP\n.B {code}\n{roff(text)}.\n" for code, text in EXITS)
    return f"{head}.SH NAME\n{roff(name)} \\- {roff(summary)}\n{body}.SH EXIT STATUS\n{exits}"


def verb_page(verb: Row, version: str) -> str:
    """The page acr-host-VERB(1)."""
    arguments = f" {roff(verb['arguments'])}" if verb["arguments"] else ""
    body = f".SH SYNOPSIS\n.B acr\\-host {roff(verb['name'])}\n[\\fIOPTION\\fR]...{arguments}\n.SH OPTIONS\n"
    body += "".join(_options([row for row in verb["options"] if not row["is_rare"]]))
    if rare := [row for row in verb["options"] if row["is_rare"]]:
        body += ".SH MORE OPTIONS\n" + "".join(_options(rare))
    summary = verb["summary"][0].lower() + verb["summary"][1:]
    return _page(f"acr-host-{verb['name']}", version, summary, body + ".SH SEE ALSO\n.BR acr\\-host (1)\n")


def main_page(told: Row) -> str:
    """The page acr-host(1)."""
    rows = "".join(
        f".TP\n.BR acr\\-host\\-{roff(verb['name'])} (1)\n{roff(verb['summary'])}.\n" for verb in told["verbs"]
    )
    body = f".SH SYNOPSIS\n.B acr\\-host\n.I VERB\n[\\fIOPTION\\fR]...\n.SH VERBS\n{rows}"
    body += ".SH FILES\n.TP\n.I $XDG_CONFIG_HOME/acr\\-host/config\nDefaults, one option = value a line.\n"
    return _page("acr-host", told["version"], "fix issues in Python repositories with a language model", body)


# ---- Completions ----


def bash(told: Row) -> str:
    """Words for verbs, options, and the values of options that have a few; files for the others."""
    verbs = told["verbs"]
    cases = "".join(
        f'    {verb["name"]}) words="{" ".join("--" + row["name"] for row in verb["options"])} --help" ;;\n'
        for verb in verbs
    )
    values = "".join(
        f'    {verb["name"]}:--{row["name"]}) words="{row["words"].replace("|", " ")}" ;;\n'
        for verb in verbs
        for row in verb["options"]
        if row["words"]
    )
    names = " ".join(verb["name"] for verb in verbs)
    return f"""# bash completion of acr-host
_acr_host() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
    return
  fi
  case $verb:$previous in
{values}  esac
  if [ -z "$words" ] && [[ $current == -* ]]; then
    case $verb in
{cases}    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _acr_host acr-host
"""


def _single(text: str) -> str:
    return text.replace("'", "'\\''")


def _zsh_option(option: Row) -> str:
    help_text = _single(option["help"].replace("\\", "").replace("[", "(").replace("]", ")").replace(":", ";"))
    value = ""
    if option["argument"]:
        action = f"({option['words'].replace('|', ' ')})" if option["words"] else "_files"
        value = f":{_single(option['argument'].replace(':', ''))}:{action}"
    return f"'*--{option['name']}[{help_text}]{value}'"


def zsh(told: Row) -> str:
    """The same, with the help of each."""
    verbs = told["verbs"]
    names = " ".join(f"'{verb['name']}:{_single(verb['summary'])}'" for verb in verbs)
    cases = "".join(
        f"    {verb['name']}) _arguments {' '.join(map(_zsh_option, verb['options']))} '*:file:_files' ;;\n"
        for verb in verbs
    )
    return f"""#compdef acr-host
_acr_host() {{
  local -a verbs=({names})
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{cases}  esac
}}
_acr_host "$@"
"""


def fish(told: Row) -> str:
    """The same."""
    lines = ["# fish completion of acr-host"]
    for verb in told["verbs"]:
        lines.append(
            f"complete -c acr-host -n __fish_use_subcommand -f -a {verb['name']} -d '{_fish(verb['summary'])}'"
        )
    for verb in told["verbs"]:
        for option in verb["options"]:
            letter = f" -s {option['letter']}" if option["letter"] else ""
            value = (
                f" -x -a '{option['words'].replace('|', ' ')}'"
                if option["words"]
                else " -r"
                if option["argument"]
                else ""
            )
            lines.append(
                f"complete -c acr-host -n '__fish_seen_subcommand_from {verb['name']}' -l {option['name']}{letter}{value}"
                f" -d '{_fish(option['help'])}'"
            )
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def main(program: str, folder: Path) -> None:
    """Writes all files below `folder`, as they lie below a prefix's share/."""
    told = json.loads(subprocess.run([program, "describe"], check=True, capture_output=True).stdout)
    manual = folder / "man" / "man1"
    manual.mkdir(parents=True, exist_ok=True)
    pages = {"acr-host": main_page(told)}
    pages |= {f"acr-host-{verb['name']}": verb_page(verb, told["version"]) for verb in told["verbs"]}
    for name, text in pages.items():
        (manual / f"{name}.1.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    places = {"bash-completion/completions/acr-host": bash, "zsh/vendor-completions/_acr-host": zsh}
    places["fish/vendor_completions.d/acr-host.fish"] = fish
    for place, write in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(write(told), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
