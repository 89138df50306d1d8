"""Builds as a packager would: plain cmake, install, and an installed tree that is moved away from the source tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from host import ROOT, SLOWNESS, Host
from repos import sample_repo
from runs import SCRIPT, arguments, check_patch, files_of

pytestmark = pytest.mark.full

SOURCES = [
    "CMakeLists.txt",
    "LICENSE",
    "native",
    "runtime",
    "python",
    "prompts",
    "tools",
    "docs",
    "tests/fixtures/sample",
]
BUILD_SECONDS = 600
SHARE = Path("share") / "acr-host"


def cmake(source: Path, *words: object) -> str:
    """Run cmake on a source tree; return its output. Errors: AssertionError with the end of it. ccache reuses the
    objects of the ordinary build, because the paths below both trees are equal.
    """
    done = subprocess.run(
        ["cmake", *map(str, words)],
        env=os.environ | {"CCACHE_BASEDIR": str(source)},
        capture_output=True,
        check=False,
        text=True,
        timeout=BUILD_SECONDS,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed tree, moved after the installation; its source and build trees are deleted. Built from a copy of the
    sources, without naming a generator or build type.
    """
    if SLOWNESS != 1:
        pytest.skip("built once, in the ordinary build's tests")
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake")
    folder = tmp_path_factory.mktemp("install")
    source = folder / "source"
    build = source / "build" / "release"
    build.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    cmake(source, "-S", source, "-B", build, "-DBUILD_TESTING=OFF")
    cmake(source, "--build", build, "-j", os.cpu_count() or 1)
    cmake(source, "--install", build, "--prefix", folder / "prefix")
    shutil.rmtree(source)
    (folder / "elsewhere").mkdir()
    return (folder / "prefix").rename(folder / "elsewhere" / "acr host")


@pytest.fixture
def moved(installed: Path, tmp_path: Path) -> Host:
    """Starts the installed program."""
    (tmp_path / "home").mkdir()
    return Host(tmp_path / "home", installed / "bin" / "acr-host")


def test_installed_files(installed: Path) -> None:
    files = files_of(installed)
    prompts = {str(SHARE / "prompts" / path.name) for path in (ROOT / "prompts").glob("*.txt")}
    package = {
        str(SHARE / path.relative_to(ROOT))
        for folder in ("acr", "examples")
        for path in (ROOT / "python" / folder).rglob("*.*")
        if path.suffix in (".py", ".pyi", ".json", ".html", ".css", ".js")
    }
    described = {str(SHARE / "schemas" / path.name) for path in (ROOT / "runtime" / "schemas").glob("*.json")}
    sample = {file for file in files if file.startswith(str(SHARE / "sample"))}
    guides = {str(SHARE / path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert prompts and package and described and guides
    assert {str(SHARE / "sample" / name) for name in ("issue.md", "answers.jsonl", "repo/pyproject.toml")} < sample
    bytecode = {file for file in files if file.endswith(".pyc")}
    documents = {file for file in files if not file.startswith(("bin/", f"{SHARE}/"))}
    assert files - bytecode - documents == {"bin/acr-host", str(SHARE / "apparmor" / "acr-host")} | (
        prompts | package | described | sample | guides
    )
    assert {"share/man/man1/acr-host.1.gz", "share/bash-completion/completions/acr-host"} < documents
    assert len(bytecode) == len([file for file in package if file.endswith(".py") and "/acr/" in file])
    text = (installed / "bin" / "acr-host").stat()
    assert text.st_mode & 0o111, "not executable"


def test_solves_the_sample_without_its_source(moved: Host, tmp_path: Path) -> None:
    repo = sample_repo(tmp_path / "sample")
    result = moved.run(*arguments(repo, tmp_path / "out")).check()
    assert result.err == ""
    check_patch(result.stdout, repo)
    assert moved.run("replay", tmp_path / "out").check().stdout == result.stdout


def test_found_through_a_link_and_from_any_folder(moved: Host, installed: Path, tmp_path: Path) -> None:
    repo = sample_repo(tmp_path / "sample")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "acr").symlink_to(installed / "bin" / "acr-host")
    linked = Host(moved.home, tmp_path / "bin" / "acr")
    call = 'search_method_in_class("usage_charge", "BlockTariff")'
    result = linked.run("search", "--repo", repo, call, cwd=tmp_path / "bin").check()
    assert "<file>brookbill/tariffs/stepped.py</file>" in result.out


def test_batch_starts_itself(moved: Host, tmp_path: Path) -> None:
    """The tasks of a batch are processes of the same program, wherever it is."""
    repo = sample_repo(tmp_path / "repos" / "a__b")
    row = {"instance_id": "a__b-1", "repo": "a/b", "base_commit": repo.head}
    row["problem_statement"] = "The bill is wrong: domestic-seasonal, SeasonTariff"
    row["problem_statement"] += ", 72.90 + 62.31"
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    moved.run(
        *("swe-bench", "--dataset", tmp_path / "tasks.jsonl", "--out", tmp_path / "out"),
        *("--repos", tmp_path / "repos", "--model", f"script:{SCRIPT}"),
    ).check()
    (line,) = (tmp_path / "out" / "preds.jsonl").read_text("utf-8").splitlines()
    check_patch(json.loads(line)["model_patch"].encode(), repo)


def test_missing_part_is_told(installed: Path, tmp_path: Path) -> None:
    """If the Python package or the prompts are missing, a clear line says so, without a traceback."""
    broken = Path(shutil.copytree(installed, tmp_path / "broken"))
    repo = sample_repo(tmp_path / "sample")
    host = Host(tmp_path / "home", broken / "bin" / "acr-host")
    (tmp_path / "home").mkdir()
    shutil.rmtree(broken / SHARE / "prompts")
    lost = host.run(*arguments(repo, tmp_path / "out"))
    assert lost.exit in (2, 3), lost.told()
    assert len(lost.err.splitlines()) == 1 and "prompts" in lost.err, lost.told()
    shutil.rmtree(broken / SHARE / "python")
    lost = host.run("index", "--repo", repo)
    assert lost.exit == 3, lost.told()
    assert len(lost.err.splitlines()) == 1 and "python" in lost.err, lost.told()
