"""Render a run: an overview and a page for each trial or device test with one plotly.js, or one page with all."""

from __future__ import annotations

import base64
import contextlib
import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from hil import __version__
from hil.cache import cache_folder
from hil.commit import short_commit
from hil.coverage import Coverage, coverage_of
from hil.errors import RigError
from hil.record import Run, read_run, write_atomic
from hil.record.safe_paths import safe_folder
from hil.report import coverage_page, formats
from hil.report.damage import damage_reported
from hil.report.device_view import device_views
from hil.report.figures import PHASES
from hil.report.overview import BAD, ORDER
from hil.report.run_files import LIBRARY
from hil.report.scripts import allowed, script
from hil.report.views import View, overview_view, trial_views

LEVEL = 5  # of gzip: half the time of the highest, for 1 % more bytes
FILTERS = ("amount", "number", "percent", "seconds", "figure", "kib", "parts")


def render(folder: Path) -> Path:
    """Write index.html into the folders of a run and its trials, and plotly.js; return the path of the overview.

    Raises:
        RigError: the folder holds no run, or its record is damaged; nothing is written then.
        OSError: the disk is full.
    """
    run = read_run(folder)
    with damage_reported(f"the pages of {run.folder}"):
        templates = _environment(run)
        views = trial_views(run, single=False)
        template = templates.get_template("trial.html.j2")
        pages = {}
        for view in views:
            pages[safe_folder(run.folder, view["t"].folder)] = template.render(view, drawn=_has_figures(view))
        devices = device_views(run, single=False)
        template = templates.get_template("device.html.j2")
        for view in devices:
            pages[safe_folder(run.folder, view["d"].folder)] = template.render(view, drawn=_has_figures(view))
        coverage = _coverage(run)
        overview = overview_view(run, single=False, coverage=coverage)
        pages[run.folder] = overview_page(run, overview)
        if isinstance(coverage, Coverage):
            write_atomic(run.folder / coverage_page.NAME, coverage_html(coverage, run.facts["id"], "index.html"))
        if _has_figures(overview, *views, *devices) and (library := packed_library()):
            write_atomic(run.folder / LIBRARY, library)
        for place, page in pages.items():
            write_atomic(place / "index.html", page)
    return run.folder / "index.html"


def overview_page(run: Run, view: View) -> str:
    """Return the overview as HTML; `view` has its variables."""
    return _environment(run).get_template("index.html.j2").render(view)


def render_single(folder: Path) -> Path:
    """Write overview and trials as one self-contained page into the folder of the run; return its path.

    Raises:
        RigError, OSError: as for `render`.
    """
    run = read_run(folder)
    with damage_reported(f"the pages of {run.folder}"):
        views, devices = trial_views(run, single=True), device_views(run, single=True)
        overview = overview_view(run, single=True, coverage=_coverage(run))
        library = packed_library() if _has_figures(overview, *views, *devices) else ""
        templates = _environment(run)
        bodies = [Markup(templates.get_template("trial_body.html.j2").render(view)) for view in views]
        device_bodies = [Markup(templates.get_template("device_body.html.j2").render(view)) for view in devices]
        page = templates.get_template("single.html.j2").render(
            overview, views=views, bodies=bodies, devices=devices, device_bodies=device_bodies, library=library
        )
        path = run.folder / f"trainrig-{run.facts['id']}.html"
        write_atomic(path, page)
    return path


def _coverage(run: Run) -> Coverage | str | None:
    """Return the coverage of a run; why it cannot be shown; or None if no trial recorded any."""
    try:
        found = coverage_of(run.folder, run.trials)
    except RigError as error:
        return f"Coverage cannot be shown: {error}"
    return found if found.boards else None


def coverage_html(found: Coverage, name: str, home: str = "") -> str:
    """Return the page of a coverage, self-contained.

    Args:
        found: the coverage.
        name: of what it is, such as the id of the run.
        home: address of the report, if there is one.
    """
    views, sentence = coverage_page.file_views(found), coverage_page.sentence(found)
    template = environment().get_template("coverage.html.j2")
    return template.render(found=found, views=views, sentence=sentence, name=name, home=home, version=__version__)


@cache
def packed_library() -> str:
    """Return a script that holds plotly.js as gzip in base64 (2 MB instead of 5 MB); the pages' script unpacks it.

    It is empty without the extra `charts`: the pages then say how to install it, and their tables have all values.
    """
    spec = find_spec("plotly")  # not imported: its classes load slowly, and only one of its files is needed
    folders = spec.submodule_search_locations if spec is not None else None
    path = Path(next(iter(folders or ()), "")) / "package_data" / "plotly.min.js"
    if not path.is_file():
        return ""
    text = base64.b64encode(gzip.compress(path.read_bytes(), LEVEL, mtime=0)).decode()
    notice = "/* plotly.js, Copyright Plotly, Inc., MIT licence: gzip in base64. */"
    return f'{notice}\nglobalThis.packedPlotly = "{text}";\n'


def _has_figures(*views: View) -> bool:
    """Return whether any of the pages has a figure."""
    return any(view.get("soak_figure") is not None or any(view.get("figures", {}).values()) for view in views)


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates in the user's cache folder, where it can be written: compiling takes half of a page."""

    def __init__(self) -> None:
        folder = cache_folder() / "templates"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template its code if it was compiled before."""
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def environment() -> jinja2.Environment:
    """Return the templates of all pages, without the variables of a run."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        bytecode_cache=_Compiled(),
    )
    found.filters |= {name: getattr(formats, name) for name in FILTERS} | {"short_commit": short_commit}
    found.globals |= {"script": script, "allowed": allowed}
    return found


def _environment(run: Run) -> jinja2.Environment:
    found = environment()
    ran: list[tuple[str, str]] = [(trial.board, trial.reality or "") for trial in run.trials]
    ran += [(each.board, each.reality or "") for each in run.device_tests if each.board is not None]
    realities = {reality for _, reality in ran}
    found.globals |= {
        "run": run.facts,
        "boards": list(dict.fromkeys(board for board, _ in ran)),
        "places": sorted(set(ran)),
        "silicon": "hardware" in realities,
        "stand_ins": sorted(realities - {"hardware", ""}),
        "phases": (*PHASES, "total"),
        "zip_pairs": zip,
        "order": ORDER,
        "bad": BAD,
    }
    return found
