"""Turns an issue into a draft pull or merge request, in a job of GitHub Actions or GitLab CI.

Settings are the variables ACR_CI_* (see SETTINGS). Model keys and the forge's token stay in their own variables and
never occur on a command line. The script runs `acr-host run`, then `acr-host pr` if the verdict suffices, and sets the
outputs verdict, cost, patch and request. Exit code: that of the run (4: a ceiling was reached), else that of the
request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

SETTINGS = {
    "issue": "",  # a URL or a file; default: the event that started the job
    "label": "",  # without this label, the job ends with success and does nothing
    "model": "",
    "max_cost": "2",
    "verify": "auto",
    "base_url": "",
    "options": "",  # more options of `acr-host run`
    "requests": "verified",  # the verdicts for which a request is opened: verified, any, never
    "base": "",  # the request's target branch
    "dry_run": "false",
    "image": "",  # a container image to use instead of the acr-host in PATH
    "out": "acr-host-run",  # the run folder
    "key_variable": "",  # the variable with the model's key, for the image
    "forge": "github",
    "api_url": "",
}
GOOD = {"verified": ("verified", "validated"), "any": ("verified", "validated", "unverified"), "never": ()}
TOKENS = {"github": ("GITHUB_TOKEN", "x-access-token"), "gitlab": ("GITLAB_TOKEN", "oauth2")}
EXIT_USAGE = 2


class SettingError(Exception):
    """A setting is invalid."""


def read_settings(env: dict[str, str]) -> dict[str, str]:
    """The settings of this job; errors: SettingError."""
    settings = {name: env.get(f"ACR_CI_{name.upper()}") or default for name, default in SETTINGS.items()}
    choices = {"requests": GOOD, "forge": TOKENS, "dry_run": ("true", "false")}
    for name, words in choices.items():
        if settings[name] not in words:
            raise SettingError(f"{name} is '{settings[name]}'; choose one of: {', '.join(words)}")
    if settings["api_url"] == "https://api.github.com":
        settings["api_url"] = ""  # the default, derived from the remote's address
    if not settings["model"]:
        raise SettingError("model is not set; name one, such as openai/gpt-4.1")
    return settings


def read_event(env: dict[str, str]) -> tuple[str, list[str]]:
    """(URL and labels of the issue) in the event that started the job; ("", []) if the event has no issue."""
    path = env.get("GITHUB_EVENT_PATH") or env.get("TRIGGER_PAYLOAD") or ""
    try:
        event = json.loads(Path(path).read_text("utf-8")) if path else {}
    except (OSError, ValueError):
        return "", []
    issue = event.get("issue") or event.get("object_attributes") or {}
    return str(issue.get("html_url") or issue.get("url") or ""), new_labels(event, issue)


def new_labels(event: dict[str, Any], issue: dict[str, Any]) -> list[str]:
    """The labels that the event adds. Other changes of an issue with the label must not start the work again."""
    if isinstance(event.get("label"), dict):  # GitHub's "labeled"
        labels, before = [event["label"]], []
    else:  # GitLab's issue hook
        change = (event.get("changes") or {}).get("labels") or {}
        is_opened = issue.get("action", "opened") in ("open", "opened", "reopen")
        labels = change.get("current") or (event.get("labels") or issue.get("labels") or [] if is_opened else [])
        before = change.get("previous") or []
    return [str(label.get("name") or label.get("title")) for label in labels if label not in before]


def place_key(settings: dict[str, str], env: dict[str, str]) -> None:
    """Copy the model's key to the variable that acr-host reads. Errors: SettingError."""
    key = env.pop("ACR_CI_KEY", "")
    if key and not re.fullmatch(r"[A-Z][A-Z0-9_]*", settings["key_variable"]):
        raise SettingError("key_variable must be the name of a variable, such as OPENAI_API_KEY")
    if key:
        env[settings["key_variable"]] = key


def find_issue(settings: dict[str, str], env: dict[str, str]) -> str | None:
    """The issue; None if the event is not for this job. Errors: SettingError."""
    issue, labels = settings["issue"], []
    if not issue:
        issue, labels = read_event(env)
        if settings["label"] and settings["label"] not in labels:
            return None
    if not issue:
        raise SettingError("there is no issue: set issue, or start the job by an event of an issue")
    if issue.startswith("-") or (not re.fullmatch(r"https?://\S+", issue) and not Path(issue).is_file()):
        raise SettingError(f"the issue {issue!r} is neither a URL nor a file")
    return issue


def host_command(settings: dict[str, str], env: dict[str, str]) -> list[str]:
    """The command that starts acr-host, from PATH or in the image. A container gets variables by name, so that no value is shown."""
    if not settings["image"]:
        return ["acr-host"]
    here = os.getcwd()
    names = {
        settings["key_variable"],
        TOKENS[settings["forge"]][0],
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
    }
    passed = [word for name in sorted(names) if env.get(name) for word in ("-e", name)]
    walls = ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"]
    place = ["--user", f"{os.getuid()}:{os.getgid()}", "-v", f"{here}:{here}", "-w", here]
    return ["docker", "run", "--rm", *place, *walls, *passed, settings["image"]]


def run_command(settings: dict[str, str], issue: str) -> list[str]:
    """The arguments of the run. Values follow "=", so that no value is parsed as an option."""
    words = ["run", "--repo=.", f"--issue={issue}", f"--model={settings['model']}", f"--out={settings['out']}"]
    words += [f"--max-cost={settings['max_cost']}", f"--verify={settings['verify']}"]
    words += [f"--base-url={settings['base_url']}"] if settings["base_url"] else []
    words += [f"--issue-api={settings['api_url']}"] if settings["api_url"] and issue.startswith("http") else []
    words += ["--dry-run"] if settings["dry_run"] == "true" else []
    return [*words, *shlex.split(settings["options"])]


def read_result(out: Path) -> dict[str, Any]:
    """The result of the run; {} if there is none."""
    try:
        result = json.loads((out / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}


def git_access(settings: dict[str, str], env: dict[str, str]) -> dict[str, str]:
    """Variables with which `git push` uses the forge's token; {} without a token."""
    variable, user = TOKENS[settings["forge"]]
    server = env.get("CI_SERVER_URL") or env.get("GITHUB_SERVER_URL")
    if not env.get(variable) or not server:
        return {}
    secret = base64.b64encode(f"{user}:{env[variable]}".encode()).decode()
    key = f"http.{server.rstrip('/')}/.extraheader"
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {secret}"}


def prepare_repository(env: dict[str, str]) -> None:
    """Set a committer name in the job's clone and, on GitLab, an address without the job's read-only password."""
    for name, value in (("user.name", "acr-host"), ("user.email", "acr-host@users.noreply.invalid")):
        if subprocess.run(["git", "config", name], check=False, capture_output=True).returncode != 0:
            subprocess.run(["git", "config", name, value], check=True)
    if env.get("CI_SERVER_URL") and env.get("CI_PROJECT_PATH"):
        url = f"{env['CI_SERVER_URL']}/{env['CI_PROJECT_PATH']}.git"
        subprocess.run(["git", "remote", "set-url", "--push", "origin", url], check=True)


def git_says(*words: str) -> str:
    """The output of git; "" if it fails."""
    done = subprocess.run(["git", *words], check=False, capture_output=True, encoding="utf-8")
    return done.stdout.strip() if done.returncode == 0 else ""


def take_branch(branch: str, settings: dict[str, str], env: dict[str, str]) -> None:
    """Fetch the branch of an earlier job with the same patch, so that it is not created again; the server may have none."""
    hidden = {settings["key_variable"], TOKENS[settings["forge"]][0]}
    clean = {name: value for name, value in env.items() if name not in hidden}
    words = [
        "git",
        "fetch",
        "-q",
        git_says("remote", "get-url", "--push", "origin"),
        f"refs/heads/{branch}:refs/heads/{branch}",
    ]
    subprocess.run(words, env=clean, check=False, capture_output=True)


def open_request(settings: dict[str, str], patch: bytes, env: dict[str, str]) -> tuple[int, str]:
    """(exit code, URL) of `acr-host pr`. The branch is named after the commit and the patch, so the same patch is not pushed twice."""
    prepare_repository(env)
    env = {**env, **git_access(settings, env)}
    digest = hashlib.sha256(git_says("rev-parse", "HEAD").encode() + patch).hexdigest()
    branch = f"acr-host/{digest[:12]}"
    take_branch(branch, settings, env)
    words = [
        "pr",
        settings["out"],
        "--repo=.",
        f"--branch={branch}",
        "--push=origin",
        "--open",
        f"--forge={settings['forge']}",
    ]
    words += [f"--base={settings['base']}"] if settings["base"] else []
    words += [f"--api-url={settings['api_url']}"] if settings["api_url"] else []
    done = subprocess.run(
        [*host_command(settings, env), *words, "--json"], env=env, check=False, stdout=subprocess.PIPE, encoding="utf-8"
    )
    request = (json.loads(done.stdout).get("request") or {}) if done.returncode == 0 else {}
    return done.returncode, str(request.get("url") or "")


def write_summary(settings: dict[str, str], env: dict[str, str]) -> None:
    """Write the request's text to the job's page (GitHub), even if no request is opened."""
    if env.get("GITHUB_STEP_SUMMARY"):
        command = [*host_command(settings, env), "pr", settings["out"], "--repo=."]
        with open(env["GITHUB_STEP_SUMMARY"], "ab") as file:
            subprocess.run(command, env=env, check=False, stdout=file)


def write_outputs(outputs: dict[str, str], env: dict[str, str]) -> None:
    """Write outputs for later steps of the job (GitHub), or to acr-host.env, a dotenv report (GitLab). Each value is one line."""
    lines = {name: " ".join(value.split()) for name, value in outputs.items()}
    if env.get("GITHUB_OUTPUT"):
        with open(env["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in lines.items())
    elif env.get("GITLAB_CI"):
        text = "".join(f"ACR_{name.upper()}={value}\n" for name, value in lines.items())
        Path("acr-host.env").write_text(text, "utf-8")
    print(", ".join(f"{name}: {value or 'none'}" for name, value in lines.items()), flush=True)


def work(env: dict[str, str]) -> int:
    """Do the job; return its exit code. Errors: SettingError."""
    settings = read_settings(env)
    place_key(settings, env)
    issue = find_issue(settings, env)
    if issue is None:
        print(f"nothing to do: the issue lacks the label '{settings['label']}'")
        return 0
    is_dry, out = settings["dry_run"] == "true", Path(settings["out"])
    command = [*host_command(settings, env), *run_command(settings, issue)]
    code = subprocess.run(command, env=env, check=False, stdout=None if is_dry else subprocess.DEVNULL).returncode
    result = {} if is_dry else read_result(out)
    verdict = str(result.get("verdict") or "none")
    cost = result.get("cost") or {}
    # If the price is unknown, use the amount that was charged against the ceiling.
    micro = max(cost.get("cost_microusd") or 0, cost.get("charged_microusd") or 0)
    outputs = {"verdict": verdict, "cost": f"{micro / 1e6:.6f}", "patch": "", "request": ""}
    if result.get("patch"):
        outputs["patch"] = str(out / "patch.diff")
        write_summary(settings, env)
    if code == 0 and outputs["patch"] and verdict in GOOD[settings["requests"]]:
        code, outputs["request"] = open_request(settings, (out / "patch.diff").read_bytes(), env)
    write_outputs(outputs, env)
    return code


def main() -> int:
    """Errors are one line. Workflow commands are switched off, so that the issue, the project and the model cannot
    control the runner through the log."""
    if sys.argv[1:]:
        settings = ", ".join(
            f"ACR_CI_{name.upper()}{f' ({default})' if default else ''}" for name, default in SETTINGS.items()
        )
        print(f"{__doc__}\nVariables, with their defaults: {settings}. docs/ci.md explains them.")
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else EXIT_USAGE
    word = secrets.token_hex(16) if os.environ.get("GITHUB_ACTIONS") == "true" else ""
    if word:
        print(f"::stop-commands::{word}", flush=True)
    try:
        return work(dict(os.environ))
    except (SettingError, OSError, subprocess.CalledProcessError) as error:
        print(f"issue_to_request: {error}", file=sys.stderr)
        return EXIT_USAGE
    finally:
        if word:  # after all lines of acr-host
            sys.stdout.flush()
            print(f"::{word}::", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
