"""Trials on the virtual board, with something broken on purpose."""

import pickle

import pytest

from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import TrialSpec, run_trial
from tests.built_once import built_once
from tests.faults.fuzz.recording import recorded


@pytest.fixture(scope="session")
def records(tmp_path_factory):
    """Return what a real firmware answers in a trial, recorded on the virtual board, once for all workers."""
    pytest.importorskip("unicorn", reason="the replies are recorded on the virtual board")

    def record(folder):
        path = folder / "records.pickle"
        path.write_bytes(pickle.dumps(recorded(folder)))
        return path

    return pickle.loads(built_once(tmp_path_factory, "recorded", record).read_bytes())


@pytest.fixture
def broken_trial(tmp_path):
    """Run a short trial on the virtual STM32H7B3 and return its outcome."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

    def run(variant="cls1", steps=4, elf=None, inject=(), **others):
        spec = TrialSpec("stm32h7b3", variant, steps=steps, evaluate=0, **others)
        return run_trial(spec, Rig(Bench(), reality="virtual"), tmp_path, elf, tuple(inject))

    return run
