"""The table of QuZO as runs: zeroth order on weights of few bits (`papers/quzo.toml`)."""

from __future__ import annotations

from dataclasses import replace

from hil.errors import RigError, close_matches
from hil.training.experiments.builder import Builder, ExperimentRequest
from hil.training.experiments.paper import Experiment, paper
from hil.training.experiments.quzo_runs import QuzoRun
from hil.training.experiments.qzo import kept_images
from hil.training.experiments.table import PaperTable
from hil.training.methods import find_method
from hil.training.networks import NETWORKS

SEVERITY = 5


def table(experiment: Experiment, request: ExperimentRequest) -> PaperTable:
    """Return the table.

    Raises:
        RigError: a wrong request.
    """
    networks = paper("quzo").values["networks"]
    if request.network not in networks:
        raise RigError(f"{request.network} is not compared: {close_matches(request.network, networks)}")
    kept, builder = kept_images(request), Builder(experiment, request)
    sets = [f"fashion-mnist-1k+{name}-{SEVERITY}" for name in request.corruptions]
    for column, network in networks[request.network].items():
        for name in experiment.trained:
            row = experiment.declared[name]
            if not find_method(row.method).trains(NETWORKS[network].formats):
                continue
            run = QuzoRun("", column, name, 1, request.epochs, request.batch, network, row.method, row.given)
            tried = replace(run, column=f"rate-{column}", data=f"{sets[0]}@{kept}-{request.images - kept}")
            run = replace(run, **builder.rate(tried, request.rates or row.rates))
            builder.add((request.network, column, name), run, [f"{one}@{request.images}" for one in sets])
        builder.add_none(request.network, column)
    facts = {
        "network": request.network, "images": request.images, "corruptions": ", ".join(request.corruptions),
        "first": request.corruptions[0], "seeds": f"{request.seeds} seed{'s' if request.seeds > 1 else ''}",
    }  # fmt: skip
    return builder.table(facts)
