"""Pictures of the committed example run, as headless Chromium shows it: those of the site, and that of README.md.

`python -m tests.unit.docs_site.pictures` makes the picture of README.md again, which is committed.
"""

from __future__ import annotations

import base64
import io
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from PIL import Image

from hil.report import render
from tests.unit.report.chromium import Chromium

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "reports/example"
TRIAL = "stm32h7b3-lenet5-elasticzo-int8-cls1-latency-seed1"
OVERVIEW = "report-overview.png"
FRONT = ROOT / "docs/images/report.png"  # the overview, in fewer colours
COLOURS = 128
PICTURES = {  # by name: page of the run, width and height of the window
    OVERVIEW: ("index.html", 1280, 800),
    "report-trial.png": (f"{TRIAL}/index.html", 1280, 1000),
    "report-phone.png": (f"{TRIAL}/index.html", 390, 844),
}
DRAWN = "[...document.querySelectorAll('.plot')].filter(one => one.checkVisibility()).every(one => { \
    const place = one.getBoundingClientRect(); return place.top > innerHeight || one.querySelector('.main-svg') })"


def make_pictures(browser: Chromium, work: Path, folder: Path, names: tuple[str, ...] = tuple(PICTURES)) -> None:
    """Write pictures into a folder; `work` is a folder for the rendered run."""
    run = shutil.copytree(EXAMPLE, work / "example")
    render(run)
    for name in names:
        page_path, width, height = PICTURES[name]
        with closing(browser.open(run / page_path, width, height=height)) as page:
            page.until(DRAWN)
            data = page.ask("Page.captureScreenshot", format="png")["data"]
            (folder / name).write_bytes(base64.b64decode(data))


def front_page(overview: Path) -> bytes:
    """Return the picture of README.md: the overview as a PNG of few colours, which is a third of the size."""
    made = io.BytesIO()
    with Image.open(overview) as picture:
        picture.convert("RGB").quantize(COLOURS).save(made, "png", optimize=True)
    return made.getvalue()


def main() -> None:
    """Make the picture of README.md again."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        with Chromium(work / "profile") as browser:
            make_pictures(browser, work, work, (OVERVIEW,))
        FRONT.write_bytes(front_page(work / OVERVIEW))


if __name__ == "__main__":
    main()
