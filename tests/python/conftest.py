"""The embedded package, importable as the host makes it so."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
