"""The project's own tests without the extra `test`: one sentence, not an error a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("side_by_side", [[], ["-n", "2"]])
@pytest.mark.parametrize("paths", [[], ["tests/unit/rig"]])
def test_what_is_missing_is_said_once(side_by_side: list[str], paths: list[str], tmp_path: Path) -> None:
    """A module that is None in sys.modules is as good as not installed."""
    (tmp_path / "bare.py").write_text("import sys\nsys.modules['hypothesis'] = None\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-p", "bare", "-p", "no:hypothesispytest", "-p", "no:cacheprovider", *side_by_side, *paths]
    ended = subprocess.run(
        [sys.executable, "-c", program, *options], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 4, ended.stdout
    (said,) = ended.stderr.strip().splitlines()
    assert (
        said
        == "ERROR: the tests need hypothesis: pip install -e '.[test]' (a run with --board=NAME does not need them)."
    )
