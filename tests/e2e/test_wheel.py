"""The wheel that contains the program: the program never imports packages of the environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from host import ROOT, Host
from repos import sample_repo
from runs import arguments, check_patch

PACKAGE = ROOT / "python" / "acr_host"


def make_wheel(folder: Path) -> Path:
    """The output of tools/package/wheel; skips the test if no package index answers."""
    env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    script = ROOT / "tools" / "package" / "wheel"
    done = subprocess.run([script, folder], env=env, capture_output=True, text=True, check=False, timeout=1200)
    if "wheel-tools failed" in done.stderr:
        pytest.skip("no package index answers")
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.mark.full
def test_a_wheel_in_an_environment(tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake")
    wheel, again = make_wheel(tmp_path / "a"), make_wheel(tmp_path / "b")
    assert wheel.name == again.name and wheel.read_bytes() == again.read_bytes()
    assert "-cp3" in wheel.name and "manylinux_2_" in wheel.name
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    (installed,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    spoiled = "import pathlib; pathlib.Path({!r}).touch()"
    for name in ("json.py", "pylint.py", "astroid.py"):
        (installed / name).write_text(spoiled.format(str(tmp_path / "imported")))
    repo = sample_repo(tmp_path / "sample")
    (tmp_path / "home").mkdir()
    host = Host(tmp_path / "home", python.with_name("acr-host"))
    patch = host.run(*arguments(repo, tmp_path / "out")).check().stdout
    facts = host.run("doctor", "--json").out
    assert (
        not (tmp_path / "imported").exists()
        and str(tmp_path / "venv" / "lib" / "python3") not in facts.split("share")[-1]
    )
    check_patch(patch, repo)
    code = f"import acr_host; print(acr_host.search({str(repo.path)!r}, 'search_class(\"Tariff\")')[0].ok)"
    env = {"HOME": str(tmp_path / "home"), "PATH": "/nowhere"}
    assert subprocess.run([python, "-c", code], env=env, check=True, capture_output=True).stdout == b"True\n"


def start(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command of a wheel whose program is a script that prints which libpython it gets."""
    program = folder / "acr_host" / "host" / "bin" / "acr-host"
    if not program.exists():
        shutil.copytree(PACKAGE, program.parents[2])
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\nreadlink -f "${0%/bin/*}"/lib/*; printf "%s\\n" "$@"\n')
        program.chmod(0o755)
    code = f"import sys, sysconfig; v = sysconfig.get_config_vars(); {before}\nimport acr_host.start as s; s.main()"
    command = [sys.executable, "-c", code, "run", "--json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_starts_the_program_with_the_shared_library_of_its_own_python(tmp_path: Path) -> None:
    for _ in range(2):
        done = start(tmp_path)
        library, *words = done.stdout.splitlines()
        assert done.returncode == 0 and words == ["run", "--json"]
        assert Path(library).name.startswith("libpython{}.{}.so".format(*sys.version_info))
    other = tmp_path / "lib" / "libpython3.99.so"
    other.parent.mkdir()
    other.touch()
    assert (
        start(tmp_path, f"v.update(INSTSONAME='{other.name}', LIBDIR='{other.parent}')").stdout.count("libpython") == 2
    )


def test_one_line_where_that_is_missing(tmp_path: Path) -> None:
    for missing in ("v.update(INSTSONAME='libpython3.99.so.1')", "v.update(INSTSONAME='libpython3.11.a')"):
        done = start(tmp_path, missing)
        assert done.returncode == 3 and len(done.stderr.splitlines()) == 1
        assert "has no shared library" in done.stderr and "libpython3." in done.stderr
