"""Links of the pages: to other pages of the site, and to files of the repository that the site does not have."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = "docs/"
OF_REPOSITORY = {  # pages of the repository outside of docs/, with their places on the site
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "fixtures/README.md": "project/fixtures.md",
    "fixtures/golden/README.md": "project/golden.md",
    "fixtures/weights/README.md": "project/weights.md",
    "reports/README.md": "project/reports.md",
}
CODE_OR_LINK = re.compile(
    r"(?P<code>^(?:```|~~~).*?^(?:```|~~~)[^\n]*$|^ {4}[^\n]*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))"
    r"|(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)",
    re.M | re.S,
)


@dataclass(frozen=True)
class Links:
    """Where links lead.

    Attributes:
        root: folder of the repository.
        pages: pages of the site by their path in the repository, such as README.md or docs/link.md.
        address: address of a file of the repository on the web, with `{path}` in it; empty if it has none.
    """

    root: Path
    pages: Mapping[str, str]
    address: str = ""

    def rewritten(self, markdown: str, source: str, place: str, complain: Callable[[str], None]) -> str:
        """Return the text of a page with links that work on the site.

        A file that is no page of the site becomes a link to the repository, or its path as code if the repository has
        no address.

        Args:
            markdown: text of the page.
            source: path of the text in the repository.
            place: path of its page on the site.
            complain: called with a sentence for each link to a file that is not there.
        """

        def one(found: re.Match[str]) -> str:
            target = found["target"]
            if found["code"] or re.match(r"[a-z]+:|#|/", target):
                return found[0]
            path, hash_, anchor = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
            if file in self.pages:
                link = posixpath.relpath(self.pages[file], posixpath.dirname(place) or ".")
                return f"{found['image']}[{found['text']}]({link}{hash_}{anchor})"
            if not (self.root / file).exists():
                complain(f"{source}: the link to {target} leads to no file of the repository")
            if file.startswith(DOCS):  # a picture or another file of the site
                link = posixpath.relpath(file.removeprefix(DOCS), posixpath.dirname(place) or ".")
                return f"{found['image']}[{found['text']}]({link}{hash_}{anchor})"
            return self._to_repository(found["text"], file)

        return CODE_OR_LINK.sub(one, markdown)

    def _to_repository(self, text: str, file: str) -> str:
        if self.address:
            return f"[{text}]({self.address.format(path=file)})"
        return text if text.startswith("`") else f"{text} (`{file}`)"
