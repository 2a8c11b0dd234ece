"""Links of the pages: how they are rewritten for the site, and that each leads to a file, and to a heading of it."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tools.docs_site.repository_links import CODE_OR_LINK, OF_REPOSITORY, Links

ROOT = Path(__file__).parents[3]
CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
MADE = re.compile(r"(?:^|/)reference/[\w-]+\.md$")  # made at build
PAGES = {"docs/a.md": "a.md", "docs/how-to/b.md": "how-to/b.md", "README.md": "project/readme.md"}


def pages() -> list[str]:
    """Return the pages that people write, as paths in the repository."""
    return [*OF_REPOSITORY, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site name them."""
    plain = re.sub(r"^(?:```|~~~).*?^(?:```|~~~)$", "", text, flags=re.M | re.S)
    named: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", plain, re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        named.add(re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-"))
    return named


def links_of(page: str) -> list[str]:
    """Return the targets of the links of a page that are no addresses of the web."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [found["target"] for found in CODE_OR_LINK.finditer(text) if found["target"]]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_to_a_file_and_to_a_heading(page: str) -> None:
    wrong = []
    for target in links_of(page):
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path))) if path else page
        if MADE.search(file):
            continue  # test_built_site.py follows it
        if not (ROOT / file).exists() or (anchor and anchor not in anchors((ROOT / file).read_text(encoding="utf-8"))):
            wrong.append(target)
    assert wrong == []


def test_every_page_is_in_the_navigation_once() -> None:
    nav = re.findall(r"([\w/.-]+\.md)$", CONFIGURATION.split("\nnav:\n")[1], re.M)
    assert len(nav) == len(set(nav))
    written = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert written <= set(nav)
    assert all(MADE.search(page) or page.startswith("project/") for page in set(nav) - written)


def test_nothing_is_asked_of_another_host() -> None:
    assert "font: false" in CONFIGURATION
    assert not re.search(r"https?://(?!HOST)", CONFIGURATION)


def rewritten(
    markdown: str, address: str = "", source: str = "docs/a.md", place: str = "a.md"
) -> tuple[str, list[str]]:
    complaints: list[str] = []
    return Links(ROOT, PAGES, address).rewritten(markdown, source, place, complaints.append), complaints


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("[b](how-to/b.md#x)", "[b](how-to/b.md#x)"),
        ("the [README\nof it](../README.md#options)", "the [README\nof it](project/readme.md#options)"),
        ("[`hil/errors.py`](../hil/errors.py)", "`hil/errors.py`"),
        ("[errors](../hil/errors.py)", "errors (`hil/errors.py`)"),
        ("[here](#x) [there](https://example.org/a)", "[here](#x) [there](https://example.org/a)"),
        ("`[b](../README.md)`\n\n    [b](../README.md)\n", "`[b](../README.md)`\n\n    [b](../README.md)\n"),
        ("```\n[b](../README.md)\n```\n", "```\n[b](../README.md)\n```\n"),
        ("![curve](images/tutorial.svg)", "![curve](images/tutorial.svg)"),
    ],
)
def test_links_are_rewritten_for_the_site(said: str, expected: str) -> None:
    assert rewritten(said) == (expected, [])


def test_a_page_of_the_repository_links_to_those_of_the_site() -> None:
    said = "[b](docs/how-to/b.md) [self](README.md)"
    assert rewritten(said, source="README.md", place="project/readme.md")[0] == "[b](../how-to/b.md) [self](readme.md)"


def test_a_page_of_the_repository_shows_a_picture_of_the_site() -> None:
    said = "![report](docs/images/tutorial.svg)"
    assert rewritten(said, source="README.md", place="project/readme.md")[0] == "![report](../images/tutorial.svg)"


def test_a_file_has_its_address_if_the_repository_has_one() -> None:
    made, _ = rewritten("[`hil/errors.py`](../hil/errors.py)", "https://example.org/main/{path}")
    assert made == "[`hil/errors.py`](https://example.org/main/hil/errors.py)"


def test_a_link_to_nothing_is_told() -> None:
    _, complaints = rewritten("[gone](../hil/gone.py)")
    assert complaints == ["docs/a.md: the link to ../hil/gone.py leads to no file of the repository"]


def test_anchors_are_those_of_headings() -> None:
    text = "# A `b` of c: d\n\n## 1. The [data](x.md)\n\n```\n# no heading\n```\n"
    assert anchors(text) == {"a-b-of-c-d", "1-the-data"}
