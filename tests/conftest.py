"""What the tests need beside the rig, looked for and set once, before anything is collected."""

from __future__ import annotations

import gc
import importlib.util
import os
from pathlib import Path

import pytest

NEEDED = (
    "hypothesis",
    "jsonschema",
)  # of the extra `test`; the modules of the extra `virtual` are skipped for by the tests that need them
EXAMPLES = {"quick": 50, "nightly": 300}  # of a property that does not say how many


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the tests of the training half where it was deleted (tools/bench_alone.sh)."""
    if importlib.util.find_spec("hil.training") is not None:
        return None
    from tests.halves import needs_training

    return needs_training(collection_path) or None


def _let_children_cache_bytecode(config: pytest.Config) -> None:
    """Let the many Python programs that the tests start keep their bytecode, in the cache of pytest.

    Container images set PYTHONDONTWRITEBYTECODE. Then every pytest that a test starts rewrites the asserts of the whole
    package again, which takes longer than a short trial.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(config.rootpath, ".pytest_cache", "bytecode"))


def _spare_the_children_a_plugin(config: pytest.Config) -> None:
    """Keep the pytests that the tests start from loading hypothesis for its summary, a tenth of what a short one takes.

    The workers of xdist run properties, and keep it.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        os.environ.setdefault("PYTEST_ADDOPTS", "-p no:hypothesispytest")


def _leave_the_job_of_the_forge() -> None:
    """Keep the many pytests that the tests start from writing into the summary of the job that runs the tests."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        os.environ.pop(name, None)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers `-n auto` starts: two more than cores, because tests wait a third of their time."""
    chosen = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ  # then xdist reads it
    return None if chosen else (os.cpu_count() or 1) + 2


@pytest.hookimpl(tryfirst=True)  # xdist reads the options in the same hook
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give a file to one worker, so that its virtual board is started once, and begin with the longest files."""
    chosen = config.option
    if not config.getoption("board", None) and getattr(chosen, "numprocesses", None) and chosen.dist == "no":
        chosen.dist, chosen.loadscopereorder = "loadfile", False


def pytest_configure(config: pytest.Config) -> None:
    """End with one sentence where the extra is not installed, and load the profile of hypothesis.

    Under xdist this comes before any worker is started. Bench tests need neither.
    """
    _let_children_cache_bytecode(config)
    if config.getoption("board", None):
        return
    _leave_the_job_of_the_forge()
    _spare_the_children_a_plugin(config)
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(
            f"the tests need {' and '.join(missing)}: pip install -e '.[test]' (a run with --board=NAME does not need them)."
        )
    from hypothesis import settings

    examples = EXAMPLES["nightly" if config.getoption("tier", "quick") == "nightly" else "quick"]
    settings.register_profile("trainrig", deadline=None, max_examples=examples)  # a busy computer is no defect
    settings.load_profile("trainrig")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Take the tests and all modules out of what the garbage collector looks at: a tenth of the time went there."""
    gc.collect()
    gc.freeze()
