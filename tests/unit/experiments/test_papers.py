"""The declarations of the papers: every name that they use is declared, and every published value has a place."""

from __future__ import annotations

import string

import pytest

from hil.errors import RigError
from hil.training.experiments import paper as papers
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.paper import PAPERS, Experiment, paper
from hil.training.experiments.table import NONE
from hil.training.experiments.tables import TABLES

ALL = [experiment for name in PAPERS for experiment in paper(name).experiments.values()]
MADE = {"pmt-figure8": ("Q=",), "pmt-figure9": ("Q=",), "fqt-figure4": ("baseline",)}


def names(experiment: Experiment) -> set[str]:
    """All rows that the claims, the order of training and the published values name."""
    found = {row for pair in experiment.claims for row in pair} | {*experiment.trained, *experiment.all_channels}
    found |= {row for one in experiment.within for row in (one.row, one.other)}
    return found | {row for columns in experiment.published.values() for rows in columns.values() for row in rows}


@pytest.mark.parametrize("experiment", ALL, ids=lambda one: one.name)
def test_every_row_that_is_named_is_shown_and_declared(experiment: Experiment) -> None:
    assert names(experiment) <= {*experiment.rows, NONE}
    trained = {row for row in experiment.trained if not row.startswith(MADE.get(experiment.name, ("none",)))}
    if not experiment.columns:  # which declare what they train
        assert trained - {NONE} <= set(experiment.declared)
    assert (NONE in experiment.rows) == bool(experiment.none)


@pytest.mark.parametrize("experiment", ALL, ids=lambda one: one.name)
def test_every_sentence_ends_and_has_a_name_in_braces_or_none(experiment: Experiment) -> None:
    for one in experiment.differences:
        said = experiment.sentences.get(one, one)
        for sentence in (said,) if isinstance(said, str) else said:
            assert sentence.endswith((".", "}")), f"{sentence!r} is neither a sentence nor the name of one"
            assert all(field != "" for _, field, _, _ in string.Formatter().parse(sentence))


def test_every_experiment_has_a_table() -> None:
    assert list(TABLES) == [experiment.name for experiment in ALL]


def test_what_the_user_requests_is_kept() -> None:
    experiment = paper("pmt").experiments["pmt-table11"]
    own = ExperimentRequest().of(experiment)
    assert (own.epochs, own.batch, own.rates) == (20, 100, (0.003, 0.01, 0.03, 0.1))
    assert ExperimentRequest(epochs=3, rates=(0.5,)).of(experiment).epochs == 3
    assert ExperimentRequest(rates=(0.5,)).of(experiment).rates == (0.5,)


def test_an_unknown_key_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text('[mine-table1]\ntitle = "T"\nrow = ["a"]\n')
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    with pytest.raises(RigError, match="mine.toml, mine-table1 is damaged .it has no field 'row'"):
        papers.paper.__wrapped__("mine")
