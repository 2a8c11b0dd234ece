"""`hil new`: write a small package of one's own, with a test that passes: a board, a meter, an engine."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
from pathlib import Path

from hil.bounded_read import SMALL_TEXT, read_text
from hil.clients import TEMPLATES, registered
from hil.errors import RigError, short_path
from hil.plugins import registries

OWN = Path(__file__).parents[1] / "plugins" / "templates"
SUFFIX = ".in"  # of a file of a template
NAME = re.compile(r"[a-z][a-z0-9-]{0,14}[a-z0-9]")  # an agent's name of its board has 16 characters at most


def main(argv: list[str]) -> int:
    """Write the package, and print what to do with it."""
    templates = _templates()
    text = "Write a small package of your own for trainrig, with a test that passes."
    parser = argparse.ArgumentParser(prog="hil new", description=text)
    parser.add_argument("kind", choices=sorted(templates), help="what it adds")
    parser.add_argument("name", metavar="NAME", help="its name: lower-case letters, digits and dashes")
    parser.add_argument("--dir", type=Path, default=Path(), metavar="DIR", help="where its folder NAME is written")
    options = parser.parse_args(argv)
    folder = options.dir / options.name
    taken = [registry for registry in registries() if registry.kind == f"{options.kind}s" and options.name in registry]
    if taken:
        raise RigError(f"there is a {options.kind} {options.name!r} already: take another name.")
    write(templates[options.kind], options.name, folder)
    place = short_path(folder)
    print(f"{place} is written. Test it:")
    if (folder / "Makefile").exists():
        print(f"\n    make -C {place}\n    cd {place} && pytest")
        return 0
    installed = place if "/" in str(place) else f"./{place}"  # pip takes a word for a name of the registry
    print(
        f"\n    pytest {place}\n\nUse it with `pip install {installed}`, or without by a line at the top of rig.toml:"
    )
    print(f'\n    plugins = ["{place}"]')
    return 0


def write(template: Path, name: str, folder: Path) -> None:
    """Write the files of a template for a name.

    Raises:
        RigError: the name cannot be that of a package, or there is something of that name already.
    """
    if not NAME.fullmatch(name):
        raise RigError(f"{name!r} is no name for a package: take up to 16 lower-case letters, digits and dashes.")
    module, cls = name.replace("-", "_"), name.title().replace("-", "")
    if keyword.iskeyword(module) or keyword.iskeyword(cls):
        raise RigError(f"{name!r} is a word of Python itself: take another name.")
    if importlib.util.find_spec(module) is not None:
        raise RigError(f"Python has a module {module} already: take another name than {name!r}.")
    if folder.exists():
        raise RigError(f"{short_path(folder)} is there already: remove it, or take another name or --dir.")
    words = {"MODULE": module, "CLASS": cls, "NAME": name}
    for source in sorted(template.rglob(f"*{SUFFIX}")):
        target = folder / _filled(str(source.relative_to(template)).removesuffix(SUFFIX), words)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = read_text(source, SMALL_TEXT, "install trainrig again")
        target.write_text(_filled(text, words), encoding="utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = re.sub(rf"(?<![A-Za-z]){word}(?![A-Za-z_])", value, text)
    return text


def _templates() -> dict[str, Path]:
    clients = [client.value for client in registered(TEMPLATES) if client.error is None]
    return {folder.name: folder for parent in (OWN, *clients) for folder in parent.iterdir() if folder.is_dir()}
