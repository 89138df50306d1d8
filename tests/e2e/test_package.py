"""Manual pages and completions, which are generated from the table of options, and the packages that contain them."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host import ROOT, Host
from repos import sample_repo
from runs import arguments, check_patch

WRITE = ROOT / "tools" / "manual" / "write.py"


@pytest.fixture
def told(host: Host) -> dict[str, Any]:
    """The program's description of its verbs and options."""
    return json.loads(host.run("describe").check().stdout)


@pytest.fixture
def share(host: Host, tmp_path: Path) -> Path:
    """A folder with the script's output."""
    subprocess.run([sys.executable, WRITE, host.program, tmp_path / "share"], check=True)
    return tmp_path / "share"


def test_each_verb_has_a_page_with_each_option(share: Path, told: dict[str, Any]) -> None:
    folder = share / "man" / "man1"
    assert len(told["verbs"]) + 1 == len(list(folder.iterdir()))
    for verb in told["verbs"]:
        page = gzip.decompress((folder / f"acr-host-{verb['name']}.1.gz").read_bytes()).decode()
        assert page.startswith(f".TH ACR-HOST-{verb['name'].upper()} 1 ")
        assert (verb["exits"] or "") in page.replace("\\-", "-").partition(".SH EXIT STATUS\n")[2]
        (examples,) = re.findall(r"\.SH EXAMPLES\n(.*?)\.SH", page.replace("\\-", "-"), re.S)
        commands = re.findall(rf"^\\fBacr-host {verb['name']}( .*)?\\fR$", examples, re.M)
        known = {option["name"] for option in verb["options"]}
        words = {word for command in commands for word in re.findall(r" --([a-z-]+)", command.partition(" -- ")[0])}
        assert commands and words <= known, words - known
        for option in verb["options"]:
            assert f"\\fB--{option['name']}\\fR" in page.replace("\\-", "-"), option
        assert not re.search(r"^[.'](?!TH|SH|SS|TP|B |BR |I )", page, re.M)


def test_variables_of_providers_are_in_manual_and_guide(share: Path, told: dict[str, Any], host: Host) -> None:
    page = gzip.decompress((share / "man" / "man1" / "acr-host.1.gz").read_bytes()).decode()
    guide = host.run("help", "models-and-money").check().out
    names = {name for row in told["providers"] for key in ("keys", "addresses") for name in row[key]}
    assert "OPENAI_API_KEY" in names
    assert not [name for name in names if f"`{name}`" not in guide or f".B {name}\n" not in page]


def complete(share: Path, *words: str) -> list[str]:
    """The completions that bash offers for the last word."""
    script = f"""source {share}/bash-completion/completions/acr-host
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _acr_host; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(
        ["bash", "-c", script, "bash", "acr-host", *words], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def test_shells_complete_verbs_options_and_values(share: Path) -> None:
    assert sorted(complete(share, "rep")) == ["replay", "report", "reproduce"]
    assert complete(share, "report", "--fo") == ["--format"]
    assert complete(share, "report", "--format", "s") == complete(share, "report", "-f", "s") == ["sarif"]
    assert complete(share, "run", "--verify", "=", "a") == ["auto", "always"]
    assert "never" in complete(share, "run", "--verify", "=")
    assert complete(share, "help", "first") == ["first-issue"] and "run" in complete(share, "help", "")
    assert "search" in complete(share, "config", "s") and complete(share, "extensions", "n") == ["new"]
    assert complete(share, "s", "--li") == ["--line-number", "--limit", "--list"] and "--help-all" in complete(
        share, "run", "--help"
    )
    assert complete(share, "run", "--sandbox", "b") == ["bubblewrap"]
    assert (
        "openai/gpt-4.1"
        in complete(share, "ask", "-m", "openai/gpt-4")
        == complete(share, "run", "--model", "openai/gpt-4")
    )
    assert "--dry-run" in complete(share, "run", "--") and "--dry-run" not in complete(share, "search", "--")
    checks = {"zsh": "zsh/vendor-completions/_acr-host", "fish": "fish/vendor_completions.d/acr-host.fish"}
    for shell, place in checks.items():
        if shutil.which(shell):
            subprocess.run([shell, "-n", share / place], check=True)


def assert_it_names_what_is_missing(tree: Path) -> None:
    """Start the tarball's program where a library is missing, or on another machine's architecture."""
    start = tree / "bin" / "acr-host"
    program = tree / "libexec" / "acr-host"
    whole = program.read_bytes()
    program.write_bytes(whole.replace(b"libcjson.so.1\0", b"libcjson.so.?\0"))
    start.write_text(start.read_text().replace("libcjson.so.1 ", "libcjson.so.? "))
    done = subprocess.run([start, "--version"], capture_output=True, text=True, check=False)
    said = r"acr-host: missing: libcjson\.so\.\?; apt-get install libcjson1 libgit2-[0-9.]+ libcurl4 [a-z0-9 -]+\n"
    assert done.returncode == 3 and re.fullmatch(said, done.stderr), done.stderr
    program.write_bytes(b"\x7fELF" + bytes(100))
    done = subprocess.run([start, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.full
def test_the_packages_hold_a_program_that_works(tmp_path: Path) -> None:
    build = ROOT / "build" / "release"
    if not shutil.which("cpack") or not shutil.which("dpkg-shlibdeps") or not (build / "CPackConfig.cmake").is_file():
        pytest.skip("cpack, dpkg-dev or a configured build is missing")
    for kind in ("DEB", "TGZ"):
        for copy in ("a", "b"):
            command = ["cpack", "-G", kind, "-B", tmp_path / copy, "--config", build / "CPackConfig.cmake"]
            env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
            subprocess.run(command, cwd=build, env=env, check=True, capture_output=True)
    (deb,), (tarball,) = (list((tmp_path / "a").glob(f"*.{kind}")) for kind in ("deb", "tar.gz"))
    for package in (deb, tarball):
        assert package.read_bytes() == (tmp_path / "b" / package.name).read_bytes()
    subprocess.run(["dpkg-deb", "-x", deb, tmp_path / "root"], check=True)
    subprocess.run(["tar", "-C", tmp_path, "-xzf", tarball], check=True)
    (moved,) = tmp_path.glob("acr-host-*")
    assert not list((tmp_path / "root").rglob("*.pyc")) and list(moved.rglob("*.pyc"))
    repo = sample_repo(tmp_path / "sample")
    for place in (tmp_path / "root" / "usr", moved):
        home = tmp_path / f"home-{place.name}"
        home.mkdir()
        own = Host(home, place / "bin" / "acr-host")
        patch = own.run(*arguments(repo, home / "out")).check().stdout
        assert own.run("report", home / "out").check().out
        check_patch(patch, repo)
        repo.git("checkout", "-q", "-f", "HEAD~1")
    assert_it_names_what_is_missing(moved)
    if shutil.which("lintian"):
        found = subprocess.run(["lintian", deb], capture_output=True, check=False, text=True)
        assert "E:" not in found.stdout, found.stdout
