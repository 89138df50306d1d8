"""Makes the embedded package importable in the same way as the host does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
