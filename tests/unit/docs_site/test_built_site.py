"""The site is built without a warning, its links lead somewhere, and a phone shows all of it.

With TRAINRIG_SITE=FOLDER in the environment the site that passed is also left there, to be published.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.unit.report.chromium import Chromium, Page, find

from .pictures import FRONT, OVERVIEW, PICTURES, make_pictures
from .site_pages import BuiltPage, broken, is_elsewhere, read_page

ROOT = Path(__file__).parents[3]
NIGHTLY = pytest.mark.tier("nightly")
BROWSER = pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
PHONE = 375
ERROR_PAGE = "404.html"  # its links begin at the root of the server
SMALLEST_PX = 11
LARGEST_DIFFERENCE = 2.0  # of 255, in the mean
# Texts and pictures whose right edge is beyond the screen and that nothing around them scrolls. The theme hides what is
# wider than the screen, so the width of the page alone says nothing.
CUT_OFF = """(() => {
  const scrolls = one => {
    for (; one; one = one.parentElement) {
      const inside = one.getBoundingClientRect().right <= innerWidth + 1;
      if (["auto", "scroll"].includes(getComputedStyle(one).overflowX) && inside) return true;
    }
    return false;
  };
  const content = document.querySelector(".md-content") || document.body, found = [], range = document.createRange();
  const walk = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode());) {
    if (!text.textContent.trim() || !text.parentElement.checkVisibility()) continue;
    range.selectNodeContents(text);
    if (range.getBoundingClientRect().right > innerWidth + 1 && !scrolls(text.parentElement))
      found.push(text.textContent.trim().slice(0, 60));
  }
  for (const one of content.querySelectorAll("img"))
    if (one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one)) found.push(one.src);
  return found;
})()"""
SMALL = f"""[...document.querySelectorAll(".md-content p, .md-content li, .md-content td, .md-content code")]
  .filter(one => one.checkVisibility() && one.textContent.trim() && !one.closest("sup, .doc-labels, .md-source-file"))
  .filter(one => parseFloat(getComputedStyle(one).fontSize) < {SMALLEST_PX})
  .map(one => one.textContent.trim().slice(0, 40))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Build the site as CONTRIBUTING.md says, with pictures if there is a Chromium."""
    pytest.importorskip("material", reason="the site needs the extra `docs`")
    pytest.importorskip("mkdocstrings", reason="the site needs the extra `docs`")
    folder, pictures = tmp_path_factory.mktemp("site") / "site", tmp_path_factory.mktemp("pictures")
    if find() is not None:
        make_pictures(request.getfixturevalue("browser"), tmp_path_factory.mktemp("run"), pictures)
    environment = {**os.environ, "TRAINRIG_SITE_PICTURES": str(pictures), "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "WARNING" not in said and "ERROR" not in said, said
    return folder.resolve()


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, BuiltPage]:
    return {path: read_page(path) for path in sorted(site.rglob("*.html")) if path.name != ERROR_PAGE}


@NIGHTLY
def test_every_link_and_every_anchor_is_there(pages: dict[Path, BuiltPage]) -> None:
    assert len(pages) > 50 and broken(pages) == []


@NIGHTLY
def test_nothing_is_loaded_from_another_host(pages: dict[Path, BuiltPage]) -> None:
    assert [(page.path.name, one) for page in pages.values() for one in page.loads if is_elsewhere(one)] == []


@NIGHTLY
def test_no_link_leads_to_a_file_of_this_computer(pages: dict[Path, BuiltPage]) -> None:
    for page in pages.values():
        assert str(ROOT) not in page.path.read_text(encoding="utf-8"), page.path.name


@NIGHTLY
def test_the_reference_has_the_docstrings_of_what_is_stated(pages: dict[Path, BuiltPage], site: Path) -> None:
    python = pages[site / "reference/python.html"]
    stated = re.findall(r"^\| `(hil\.[\w.]+)` \|", (ROOT / "docs/public-api.md").read_text(encoding="utf-8"), re.M)
    numbers = ["hil.plugins.API", "hil.record.SCHEMA"]  # in tables
    assert [name for name in stated if name not in python.anchors] == numbers
    assert "One trial." in python.path.read_text(encoding="utf-8")


@NIGHTLY
@BROWSER
def test_a_phone_shows_every_page_whole(pages: dict[Path, BuiltPage], site: Path, browser: Chromium) -> None:
    for path in pages:
        with closing(browser.open(path, PHONE)) as page:
            name = str(path.relative_to(site))
            assert (name, page.evaluate("document.documentElement.scrollWidth")) == (name, PHONE)
            assert (name, page.evaluate(CUT_OFF)) == (name, [])
            assert (name, page.evaluate(SMALL)) == (name, [])
            assert (name, elsewhere(page, site)) == (name, [])
            assert (name, page.faults) == (name, [])


def elsewhere(page: Page, site: Path) -> list[str]:
    """Return what a page asked for that is not of the site."""
    return [one for one in page.requests if not one.startswith((f"{site.as_uri()}/", "data:", "blob:"))]


@NIGHTLY
@BROWSER
def test_every_picture_is_shown(site: Path, pages: dict[Path, BuiltPage]) -> None:
    shown = {Path(one).name for page in pages.values() for one in page.loads if one.endswith(".png")}
    assert shown - {"favicon.png"} == {*PICTURES, FRONT.name}
    assert all((site / "images" / name).stat().st_size > 10_000 for name in PICTURES)


@NIGHTLY
def test_the_site_is_left_for_publishing(site: Path) -> None:
    """Runs last: what is left there has passed, or the session fails."""
    if target := os.environ.get("TRAINRIG_SITE"):
        shutil.copytree(site, target, dirs_exist_ok=True)
        assert (Path(target) / "index.html").is_file()


@NIGHTLY
@BROWSER
def test_the_picture_of_the_front_page_is_of_the_example(browser: Chromium, tmp_path: Path) -> None:
    """Fonts may differ a little, and so it is compared in small."""
    make_pictures(browser, tmp_path, tmp_path, (OVERVIEW,))
    with Image.open(FRONT) as kept, Image.open(tmp_path / OVERVIEW) as made:
        assert kept.size == made.size
        small = [np.asarray(one.convert("L").resize((128, 80)), np.float64) for one in (kept, made)]
    assert np.abs(small[0] - small[1]).mean() < LARGEST_DIFFERENCE, "python -m tests.unit.docs_site.pictures"
    assert np.abs(small[0] - small[0].mean()).mean() > 2 * LARGEST_DIFFERENCE  # an empty page would be seen


def test_every_picture_of_a_page_is_made() -> None:
    named = {
        name
        for path in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"^<!-- picture: (\S+): .+ -->$", path.read_text(encoding="utf-8"), re.M)
    }
    assert named == set(PICTURES)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    one.write_text(
        '<h1 id="top"></h1><a href="other.html#a">x</a><a href="other.html#b">x</a><a href="gone.html">x</a>'
        '<a href="#top">x</a><a href="#end">x</a><a href="https://example.org/x#y">x</a><img src="gone.png">'
    )
    other.write_text('<p id="a"></p><script src="https://example.org/a.js"></script>')
    pages = {path: read_page(path) for path in (one, other)}
    assert broken(pages) == [f"one.html: {each}" for each in ("other.html#b", "gone.html", "#end", "gone.png")]
    assert [each for each in pages[other].loads if is_elsewhere(each)] == ["https://example.org/a.js"]


@NIGHTLY
@BROWSER
def test_what_is_cut_off_or_small_is_found(tmp_path: Path, browser: Chromium) -> None:
    wide = "<p style='white-space: nowrap'>" + "word " * 50 + "</p>"
    path = tmp_path / "page.html"
    path.write_text(
        "<meta name=viewport content='width=device-width'><style>html { overflow-x: hidden }</style>"
        f"<div class=md-content>{wide}<div style='overflow-x: auto'>{wide}</div>"
        "<p style='font-size: 9px'>tiny</p></div>"
    )
    with closing(browser.open(path, PHONE)) as page:
        assert len(page.evaluate(CUT_OFF)) == 1
        assert page.evaluate(SMALL) == ["tiny"]
