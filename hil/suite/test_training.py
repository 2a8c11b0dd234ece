"""LeNet-5 on real images by ElasticZO-INT8, on the board, every update bit for bit against NumPy.

Full ZO needs far longer than this to learn and is compared for its bits; ZO-Feat-Cls1 must also end clearly above the untrained network.
"""

import pytest

from hil.trial import TrialSpec

TRIALS = {
    "full-zo": {"steps": 200, "evaluate": 0},
    "cls2": {"steps": 10, "evaluate": 0},
    "cls1": {"steps": 200, "evaluate": 400},
    "full-bp": {"steps": 10, "evaluate": 0},
}


@pytest.mark.parametrize("variant", TRIALS)
def test_elasticzo_int8(hil_board, variant, hil_trial):
    """Train in lock-step; the outcome has decided."""
    outcome = hil_trial(TrialSpec(board=hil_board, variant=variant, **TRIALS[variant]))
    assert outcome.verdict == "pass", outcome.reason
