"""Render a run: an overview and a page a trial in its folder, with one plotly.js beside them; or all of it as one page that can be sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jinja2
from markupsafe import Markup

from hil.errors import RigError, said_by
from hil.record import Run, read_run, write_atomic
from hil.record.inside import safe_folder
from hil.report import formats
from hil.report.figures import PHASES
from hil.report.library import NAME, packed
from hil.report.overview import BAD, ORDER
from hil.report.views import overview_view, trial_views

FILTERS = ("number", "percent", "seconds", "figure", "kib", "parts")


def render(folder: Path) -> Path:
    """Write index.html into the folder of a run and into that of each trial, and plotly.js beside the overview; return the path of the overview.

    Raises:
        RigError: the folder holds no run, or no page can be made of it; nothing is written then.
        OSError: the disk takes no more.
    """
    run = read_run(folder)
    with _of_record(run):
        environment = _environment(run)
        views = trial_views(run, single=False)
        template = environment.get_template("trial.html.j2")
        pages = [
            (safe_folder(run.folder, view["t"].folder), template.render(view, drawn=_is_drawn(view))) for view in views
        ]
        whole = overview_view(run, single=False)
        overview = environment.get_template("index.html.j2").render(whole)
        if whole["soak_figure"] is not None or any(_is_drawn(view) for view in views):
            write_atomic(run.folder / NAME, packed())
        for place, page in [*pages, (run.folder, overview)]:
            write_atomic(place / "index.html", page)
    return run.folder / "index.html"


def render_single(folder: Path) -> Path:
    """Write the overview and all trials as one page that needs nothing beside it, into the folder of the run; return its path.

    Raises:
        RigError: the folder holds no run, or no page can be made of it; nothing is written then.
        OSError: the disk takes no more.
    """
    run = read_run(folder)
    with _of_record(run):
        views = trial_views(run, single=True)
        whole = overview_view(run, single=True)
        library = packed() if whole["soak_figure"] is not None or any(_is_drawn(view) for view in views) else ""
        environment = _environment(run)
        bodies = [Markup(environment.get_template("trial_body.html.j2").render(view)) for view in views]
        page = environment.get_template("single.html.j2").render(whole, views=views, bodies=bodies, library=library)
        path = run.folder / f"trainrig-{run.facts['id']}.html"
        write_atomic(path, page)
    return path


@contextmanager
def _of_record(run: Run) -> Iterator[None]:
    """Whatever a page cannot be made from is a damaged record: its shape is right, and what it says makes no sense.

    Raises:
        RigError: in the place of anything but an OSError.
    """
    try:
        yield
    except (RigError, OSError):
        raise
    except Exception as error:
        kind = type(error).__name__
        raise RigError(
            f"the pages of {run.folder} cannot be made ({kind}: {said_by(error)}): its record is damaged, run the trials again."
        ) from error


def _is_drawn(view: dict[str, object]) -> bool:
    """Return whether a page has figures."""
    figures = view["figures"]
    return isinstance(figures, dict) and any(figures.values())


def _environment(run: Run) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    realities = {trial.reality or "" for trial in run.trials}
    environment.globals |= {
        "run": run.facts,
        "boards": list(dict.fromkeys(trial.board for trial in run.trials)),
        "places": sorted({(trial.board, trial.reality or "") for trial in run.trials}),
        "silicon": "hardware" in realities,
        "stand_ins": sorted(realities - {"hardware", ""}),
        "phases": (*PHASES, "total"),
        "zip_pairs": zip,
        "order": ORDER,
        "bad": BAD,
    }
    environment.filters |= {name: getattr(formats, name) for name in FILTERS}
    return environment
