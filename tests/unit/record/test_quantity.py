import math

import pytest

from hil.errors import RigError
from hil.quantity import Provenance, Quantity
from hil.record import quantities
from hil.training.trial.recording import trial_record


@pytest.mark.parametrize("word", ["measured", "counted", "modelled", "analytic"])
def test_a_word_of_provenance_becomes_the_enum_and_its_word_again(word):
    quantity = Quantity(3, "B", word, 0.5, "why")
    assert quantity.provenance is Provenance(word)
    assert quantity.to_json() == {"value": 3, "unit": "B", "provenance": word, "uncertainty": 0.5, "note": "why"}
    assert type(quantity.to_json()["provenance"]) is str


@pytest.mark.parametrize("word", ["estimated", "Measured", "", None])
def test_any_other_word_is_refused(word):
    with pytest.raises(RigError, match="use one of measured, counted, modelled, analytic"):
        Quantity(3, "B", word)


def test_every_figure_of_a_trial_has_its_word(outcomes):
    found = quantities(trial_record(outcomes[0]))
    assert found["sram.total"] == Quantity(18_704 + 138_000 + 1_200, "B", "counted")
    assert found["sram.planned"].provenance is Provenance.ANALYTIC
    assert found["cycles.total"] == Quantity(80, "cycle", "modelled")
    assert found["step_time_s"].provenance is Provenance.MODELLED
    accuracy = found["accuracy.after"]
    assert accuracy.uncertainty == pytest.approx(math.sqrt(0.6 * 0.4 / 500))


def test_a_blocked_trial_claims_no_figure_of_the_board(outcomes):
    found = quantities(trial_record(outcomes[2]))
    assert not [name for name in found if name.startswith(("cycles", "accuracy", "sram.total", "step_time"))]
