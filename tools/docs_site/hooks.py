"""What MkDocs does beside rendering docs/: pages that are made at build, pages of the repository, links, pictures.

`mkdocs.yml` names this file. The pages themselves come from plain functions, so that another generator can use them.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # MkDocs takes it out again when it has read this file
from tools.docs_site import api_page, command_line, messages_page, record_page, rig_toml_page, settings_page  # noqa: E402
from tools.docs_site.repository_links import DOCS, OF_REPOSITORY, Links  # noqa: E402

log = logging.getLogger("mkdocs.hooks.trainrig")
MADE = (command_line, messages_page, record_page, rig_toml_page, settings_page)
PICTURES = "TRAINRIG_SITE_PICTURES"  # names the folder with the pictures that the tests made
PICTURE = re.compile(r"^<!-- picture: (\S+\.png): (.+) -->$", re.M)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, the pages of the repository outside of docs/, and the pictures."""
    texts = {module.PAGE: module.text() for module in MADE}
    public_api = Path(config.docs_dir, api_page.SOURCE).read_text(encoding="utf-8")
    texts[api_page.PAGE] = api_page.text(public_api)
    texts |= {place: (ROOT / source).read_text(encoding="utf-8") for source, place in OF_REPOSITORY.items()}
    for place, text in texts.items():
        files.append(File.generated(config, place, content=text))
    for picture in _pictures():
        files.append(File.generated(config, f"images/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Make the links of a page work on the site, and show the pictures that there are."""
    place = page.file.src_uri
    sources = {site: source for source, site in OF_REPOSITORY.items()}
    if place not in {module.PAGE for module in (*MADE, api_page)}:
        links = Links(ROOT, _pages(files), config.extra.get("file_address") or "")
        markdown = links.rewritten(markdown, sources.get(place, DOCS + place), place, log.warning)
    there = {picture.name for picture in _pictures()}
    up = "../" * place.count("/")

    def shown(found: re.Match[str]) -> str:
        name, said = found.groups()
        return f"![{said}]({up}images/{name})" if name in there else ""

    return PICTURE.sub(shown, markdown)


def _pages(files: Files) -> dict[str, str]:
    """Return the pages by their path in the repository."""
    return {DOCS + file.src_uri: file.src_uri for file in files.documentation_pages()} | OF_REPOSITORY


def _pictures() -> list[Path]:
    folder = os.environ.get(PICTURES)
    return sorted(Path(folder).glob("*.png")) if folder else []
