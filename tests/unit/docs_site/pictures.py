"""Pictures for the site: pages of the committed example run, as headless Chromium shows them."""

from __future__ import annotations

import base64
import shutil
from contextlib import closing
from pathlib import Path

from hil.report import render
from tests.unit.report.chromium import Chromium

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "reports/example"
TRIAL = "stm32h7b3-lenet5-elasticzo-int8-cls1-latency-seed1"
PICTURES = {  # by name: page of the run, width and height of the window
    "report-overview.png": ("index.html", 1280, 800),
    "report-trial.png": (f"{TRIAL}/index.html", 1280, 1000),
    "report-phone.png": (f"{TRIAL}/index.html", 390, 844),
}
DRAWN = "[...document.querySelectorAll('.plot')].filter(one => one.checkVisibility()).every(one => { \
    const place = one.getBoundingClientRect(); return place.top > innerHeight || one.querySelector('.main-svg') })"


def make_pictures(browser: Chromium, work: Path, folder: Path) -> None:
    """Write every picture into a folder; `work` is a folder for the rendered run."""
    run = shutil.copytree(EXAMPLE, work / "example")
    render(run)
    for name, (page_path, width, height) in PICTURES.items():
        with closing(browser.open(run / page_path, width, height=height)) as page:
            page.until(DRAWN)
            data = page.ask("Page.captureScreenshot", format="png")["data"]
            (folder / name).write_bytes(base64.b64decode(data))
