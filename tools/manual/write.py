"""Writes the manual pages and the completions for bash, zsh and fish from the program's tables of options and prices.

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
    ("0", "there is a patch (or another result), and nothing rejected it"),
    ("1", "there is no patch (or other result), something rejected it, or `verify` could not prove it"),
    ("2", "usage: acr-host cannot use an option, file or name that you gave"),
    (
        "3",
        "environment: a tool, key, repository or disk space is missing, a model cannot be reached, or `--verify` cannot run code",
    ),
    ("4", "a ceiling of money, tokens or time was reached; a patch may have been written"),
    ("130", "interrupted; run the same command with the same `--out` to resume"),
]


# ---- Manual pages ----


def roff(text: str) -> str:
    """The text as roff; protects a line that begins with a control character."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\\&" + escaped if escaped[:1] in ".'" else escaped


def help_of(option: Row) -> str:
    """The help text of an option, with its values, default and variable."""
    more = f" ({option['values']})" if option["values"] else ""
    more += f"; without a value: {option['implicit']}" if option["implicit"] else ""
    more += f"; environment variable: {option['variable']}" if option["variable"] else ""
    return option["help"] + more + "."


def _options(options: list[Row]) -> Iterator[str]:
    group = None
    for option in options:
        if option["group"] != group:
            group = option["group"]
            yield f".SS {group}\n"
        letter = f"\\fB\\-{option['letter']}\\fR, " if option["letter"] else ""
        argument = f" \\fI{roff(option['argument'])}\\fR" if option["argument"] else ""
        yield f".TP\n{letter}\\fB\\-\\-{roff(option['name'])}\\fR{argument}\n{roff(help_of(option))}\n"


def _page(name: str, version: str, summary: str, body: str, own_exits: str | None = None) -> str:
    head = f'.TH {name.upper()} 1 "" "acr-host {version}" "User Commands"\n'
    exits = f"Of this verb: {roff(own_exits)}. Otherwise:\n" if own_exits else ""
    exits += "".join(f".TP\n.B {code}\n{roff(text)}.\n" for code, text in EXITS)
    return f"{head}.SH NAME\n{roff(name)} \\- {roff(summary)}\n{body}.SH EXIT STATUS\n{exits}"


def verb_page(verb: Row, version: str) -> str:
    """The page acr-host-VERB(1)."""
    arguments = f" {roff(verb['arguments'])}" if verb["arguments"] else ""
    if verb["arguments_note"]:
        arguments += f"\n.SH DESCRIPTION\n{roff(verb['arguments_note'])}."
    body = f".SH SYNOPSIS\n.B acr\\-host {roff(verb['name'])}\n[\\fIOPTION\\fR]...{arguments}\n.SH OPTIONS\n"
    body += "".join(_options(verb["options"])) + ".SH EXAMPLES\n"
    body += "".join(f".TP\n{roff(one['task'])}:\n\\fBacr\\-host {roff(one['words'])}\\fR\n" for one in verb["examples"])
    summary = verb["summary"][0].lower() + verb["summary"][1:]
    return _page(
        f"acr-host-{verb['name']}", version, summary, body + ".SH SEE ALSO\n.BR acr\\-host (1)\n", verb["exits"]
    )


def _variables(told: Row) -> dict[tuple[str, str], list[str]]:
    """(meaning, variable) -> the providers that read the variable."""
    found: dict[tuple[str, str], list[str]] = {}
    for provider in told["providers"]:
        for key, what in (("keys", "Key"), ("addresses", "Address of the server")):
            for name in provider[key]:
                found.setdefault((what, name), []).append(provider["name"])
    return found


def main_page(told: Row) -> str:
    """The page acr-host(1)."""
    rows = "".join(
        f".TP\n.BR acr\\-host\\-{roff(verb['name'])} (1)\n{roff(verb['summary'])}.\n" for verb in told["verbs"]
    )
    body = f".SH SYNOPSIS\n.B acr\\-host\n.I VERB\n[\\fIOPTION\\fR]...\n.SH VERBS\n{rows}"
    rows = "".join(
        f".TP\n.B {roff(name)}\n{roff(what)} for {roff(', '.join(models))}.\n"
        for (what, name), models in _variables(told).items()
    )
    body += f".SH ENVIRONMENT\nThe first variable that is set counts; options take precedence. acr\\-host help models\\-and\\-money has the others.\n{rows}"
    body += ".SH FILES\n.TP\n.I $XDG_CONFIG_HOME/acr\\-host/config\nDefaults, one option = value a line.\n"
    return _page("acr-host", told["version"], "fix issues in Python repositories with a language model", body)


# ---- Completions ----

ACTIONS = {"extensions": "new test"}  # the words that may be the first argument of a verb
PRICES = Path(__file__).resolve().parents[2] / "native" / "money" / "price_table.json"


def models() -> str:
    """The names of the models whose prices are known."""
    return " ".join(sorted(set(json.loads(PRICES.read_text("utf-8"))) - {"sample_spec"}))


def arguments_of(told: Row) -> dict[str, str]:
    """The words that may be the first argument of some verbs."""
    names = " ".join(verb["name"] for verb in told["verbs"])
    return ACTIONS | {"config": names, "help": " ".join([names, *told["topics"]])}


def pattern_of(verb: Row) -> str:
    """A shell pattern that matches the name and the short name of a verb."""
    return "|".join(filter(None, (verb["name"], verb["short_name"])))


def patterns_of(verb: Row, option: Row) -> str:
    """A shell pattern that matches VERB:OPTION, for the long and the short name of the option."""
    names = ["--" + option["name"], *(["-" + option["letter"]] if option["letter"] else [])]
    return "|".join(f"{verb['name']}:{name}" for name in names)


def bash(told: Row) -> str:
    """Completes verbs, options, models, and the values of options that have a few values; for other options, files."""
    verbs = told["verbs"]
    cases = "".join(
        f'    {pattern_of(verb)}) words="{" ".join("--" + row["name"] for row in verb["options"])} --help --help-all" ;;\n'
        for verb in verbs
    )
    values = "".join(
        f'    {patterns_of(verb, row)}) words="{row["words"].replace("|", " ")}" ;;\n'
        for verb in verbs
        for row in verb["options"]
        if row["words"]
    )
    names = " ".join(verb["name"] for verb in verbs)
    first = "".join(f'    {verb}:{verb}) words="{words}" ;;\n' for verb, words in arguments_of(told).items())
    return f"""# bash completion of acr-host
_acr_host() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
  # bash splits --option=value into three words
  [ "$current" != = ] || current=
  [ "$previous" != = ] || previous=${{COMP_WORDS[COMP_CWORD-2]}}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} help --help --version" -- "$current"))
    return
  fi
  case $verb:$previous in
{first}{values}    *:--model|*:-m|*:--fallback-model) words="{models()}" ;;
  esac
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
        action = "{_multi_parts / models}" if option["argument"] == "MODEL" else action
        value = f":{_single(option['argument'].replace(':', ''))}:{action}"
    return f"'*--{option['name']}[{help_text}]{value}'"


def _zsh_argument(words: str | None) -> str:
    return f"':word:({words})'" if words else ""


def zsh(told: Row) -> str:
    """Completes the same words as `bash`, and shows help texts."""
    verbs = told["verbs"]
    names = " ".join(f"'{verb['name']}:{_single(verb['summary'])}'" for verb in verbs)
    cases = "".join(
        f"    {pattern_of(verb)}) _arguments {' '.join(map(_zsh_option, verb['options']))}"
        f" {_zsh_argument(arguments_of(told).get(verb['name']))} '*:file:_files' ;;\n"
        for verb in verbs
    )
    return f"""#compdef acr-host
_acr_host() {{
  local -a verbs=({names} 'help:Print a guide, or the help of a verb')
  local -a models=({models()})
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
    help) _arguments {_zsh_argument(arguments_of(told)["help"])} ;;
{cases}  esac
}}
_acr_host "$@"
"""


def fish(told: Row) -> str:
    """The same."""
    lines = ["# fish completion of acr-host", f"set -g __acr_host_models {models()}"]
    for verb in told["verbs"]:
        lines.append(
            f"complete -c acr-host -n __fish_use_subcommand -f -a {verb['name']} -d '{_fish(verb['summary'])}'"
        )
    for verb in told["verbs"]:
        seen = pattern_of(verb).replace("|", " ")
        for option in verb["options"]:
            letter = f" -s {option['letter']}" if option["letter"] else ""
            value = (
                f" -x -a '{option['words'].replace('|', ' ')}'"
                if option["words"]
                else " -x -a '$__acr_host_models'"
                if option["argument"] == "MODEL"
                else " -r"
                if option["argument"]
                else ""
            )
            lines.append(
                f"complete -c acr-host -n '__fish_seen_subcommand_from {seen}' -l {option['name']}{letter}{value}"
                f" -d '{_fish(option['help'])}'"
            )
    lines.append("complete -c acr-host -n __fish_use_subcommand -f -a help -d 'Print a guide, or the help of a verb'")
    lines += [
        f"complete -c acr-host -n '__fish_seen_subcommand_from {verb}' -f -a '{words}'"
        for verb, words in arguments_of(told).items()
    ]
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def main(program: str, folder: Path) -> None:
    """Write all files below `folder`, in the layout of share/."""
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
