"""Tests of the bytecode that is made before a script's first run: what is compiled, and that changed files are read anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = Path(__file__).parents[2] / "python" / "acr" / "project" / "inside" / "compile_imports.py"
FILES = {
    "shop/__init__.py": "from .prices import (  # noqa\n    total,\n    Price as P)\n",
    "shop/prices.py": "import shop.tax as t, \\\n    shop.odd\nVALUE = 11\ntotal = Price = None\n",
    "shop/tax/__init__.py": "def late():\n    from ..rates import RATE\n    from . import local\n",
    "shop/tax/local.py": "",
    "shop/odd.py": "def (\n",
    "shop/rates.py": 'RATE = 1  # "import shop.unused"\n',
    "shop/unused.py": "raise SystemExit(9)\n",
    "src/other.py": "import shop.tax, sys\n",
}  # fmt: skip
SCRIPT = "import other\nfrom shop import prices\nprint(prices.VALUE)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with those files, and a link to its package."""
    for name, text in FILES.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    (tmp_path / "tree" / "linked").symlink_to("shop")
    return tmp_path / "tree"


def compile_imports(tree: Path, script: str) -> set[str]:
    """Run the compiler; the source files whose bytecode lies in the home afterwards."""
    home = tree.parent / "home"
    shutil.rmtree(home, ignore_errors=True)
    command = [sys.executable, "-I", "-S", "-c", COMPILER.read_text(), str(tree / "src")]
    env = os.environ | {"HOME": str(home)}
    subprocess.run(command, cwd=tree, env=env, input=script, text=True, check=True)
    names = {str(path.relative_to(home)) for path in home.rglob("*.pyc")}
    return {name.replace("__pycache__/", "").replace(f".{sys.implementation.cache_tag}.pyc", ".py") for name in names}


def test_what_a_script_imports_is_compiled(tree: Path) -> None:
    """With the imports of these files, wherever they stand; not what is mentioned, cannot be compiled or is reached by a link."""
    assert compile_imports(tree, SCRIPT) == set(FILES) - {"shop/unused.py", "shop/odd.py"}
    assert compile_imports(tree, "import linked.unused, os, nothing.at.all\nfrom .... import x\n") == set()


def test_the_bytecode_of_a_changed_file_is_not_used(tree: Path) -> None:
    """Even if the file has the same size and time as before."""
    (tree / "shop" / "odd.py").write_text("")
    compile_imports(tree, SCRIPT)
    shutil.copytree(tree.parent / "home", tree, dirs_exist_ok=True)
    prices = tree / "shop" / "prices.py"
    before = prices.stat()
    env = os.environ | {"PYTHONPATH": f"{tree}:{tree / 'src'}", "PYTHONVERBOSE": "1"}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-B", "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)

    first = run()
    assert first.stdout == "11\n" and f"code object from '{prices}'" not in first.stderr
    prices.write_text(FILES["shop/prices.py"].replace("11", "12"))
    os.utime(prices, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run().stdout == "12\n"
