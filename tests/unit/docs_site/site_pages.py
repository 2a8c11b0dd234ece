"""What a built page of the site holds: its anchors, where its links lead, and what it loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class BuiltPage:
    """One page.

    Attributes:
        anchors: ids of its elements.
        links: where its links lead, as they are written.
        loads: addresses of scripts, styles and pictures.
    """

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self, page: BuiltPage) -> None:
        super().__init__()
        self._page = page

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self._page.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self._page.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self._page.loads.append(given["href"])
        elif "src" in given:
            self._page.loads.append(given["src"])


def read_page(path: Path) -> BuiltPage:
    """Return what a page holds."""
    page = BuiltPage(path)
    _Reader(page).feed(path.read_text(encoding="utf-8"))
    return page


def is_elsewhere(address: str) -> bool:
    """Return whether an address is one of another host."""
    return bool(urlsplit(address).netloc)


def broken(pages: dict[Path, BuiltPage]) -> list[str]:
    """Return the links and loads of the pages that lead to no file, or to no anchor of it."""
    found = []
    for page in pages.values():
        for address in (*page.links, *page.loads):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            named = pages[target].anchors if target in pages and parts.fragment else {unquote(parts.fragment)}
            if not target.is_file() or unquote(parts.fragment) not in named:
                found.append(f"{page.path.name}: {address}")
    return found
