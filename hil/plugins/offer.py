"""What a plugin offers: a name of one kind, and the place in Python of the thing behind it."""

from __future__ import annotations

import contextlib
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hil import __version__
from hil.entry_points import GROUP as GROUP
from hil.errors import Blocked, RigError, message_of, short_path, shown

API = 1  # version of the interface between trainrig and its plugins; a plugin may state the one that it is built for
STATED = "API"  # name of that statement in a plugin's module or package
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")  # it becomes part of paths, options and addresses of figures
PACKAGE = "trainrig"
STAGE = "plugin"  # at which a trial is blocked that needs a broken plugin


@dataclass(frozen=True)
class Source:
    """The package that offers something.

    Attributes:
        package, version: of the package; the version is empty if it states none.
        folder: the folder that rig.toml names; None for an installed package.
    """

    package: str
    version: str
    folder: Path | None = None

    def __str__(self) -> str:
        named = f"{self.package} {self.version}".strip()
        return named if self.folder is None else f"{named} in {short_path(self.folder)}"

    @property
    def removal(self) -> str:
        """How a user does without it, as the end of a sentence."""
        if self.folder is None:
            return f"uninstall {self.package}"
        return f"take {short_path(self.folder)} out of `plugins` in rig.toml"


HOUSE = Source(PACKAGE, __version__)


@dataclass(frozen=True)
class Offer:
    """A thing that a package offers.

    Attributes:
        kind: the group of entry points without `trainrig.`: `boards`, `meters`, ...
        name: by which users ask for it.
        value: where it is in Python, as `module:attribute`.
        source: the package.
    """

    kind: str
    name: str
    value: str
    source: Source

    def load(self) -> Any:
        """Return the thing.

        Raises:
            Blocked: its module cannot be imported, is that of another folder, or is built for another version of the
                interface; or it has no such thing.
        """
        place, _, attribute = self.value.partition(":")
        if self.source.folder is not None:
            _make_importable(self.source.folder)
        try:
            module = import_module(place)
        except (Exception, SystemExit) as error:  # code of a stranger, which may raise anything
            raise self.broken(f"importing {place} raises {type(error).__name__} ({_where(error)})") from error
        self._check_place(module)
        self._check_version(module)
        thing: Any = module
        for part in attribute.split(".") if attribute else ():
            try:
                thing = getattr(thing, part)
            except Exception as error:
                raise self.broken(f"{place} has no {attribute}") from error
        return thing

    def broken(self, why: str, cure: str = "correct it") -> Blocked:
        """Return the error of an offer that cannot be used; `why` is a clause, `cure` what its author can do."""
        return Blocked(STAGE, f"{self} cannot be used: {why}: {cure}, or {self.source.removal}.")

    @contextlib.contextmanager
    def running(self, *signals: type[Exception]) -> Iterator[None]:
        """Call code of the plugin in a `with` block. What it raises, other than an error of the rig, is Blocked.

        `signals` are exceptions of the interface, which pass.
        """
        passing: tuple[type[BaseException], ...] = (RigError, *signals, KeyboardInterrupt, GeneratorExit)
        try:
            yield
        except passing:
            raise
        except BaseException as error:  # SystemExit, and the outcomes of pytest
            if self.source == HOUSE:
                raise
            raise self.broken(f"it raised {type(error).__name__} ({_where(error)})") from error

    def __str__(self) -> str:
        return f"{self.name!r} in the {self.kind.replace('_', ' ')} of {self.source}"

    def _check_place(self, module: ModuleType) -> None:
        """Check that a module is of the folder: another folder or package may have one of its name."""
        folder, file = self.source.folder, getattr(module, "__file__", None)
        if folder is None or file is None or Path(file).resolve().is_relative_to(folder.resolve()):
            return
        why = f"its module {module.__name__} is another one of this name, {short_path(Path(file))}"
        raise self.broken(why, "rename one of the two")

    def _check_version(self, module: ModuleType) -> None:
        if self.source == HOUSE:
            return
        for place in (module, sys.modules.get(module.__name__.partition(".")[0])):
            stated = getattr(place, STATED, API)
            if stated != API or isinstance(stated, bool):
                raise self.broken(
                    f"it is built for version {shown(stated)} of the plugin interface, and trainrig {__version__} has "
                    f"version {API}",
                    "take another version of it",
                )


def _make_importable(folder: Path) -> None:
    """Put a folder last on the path, so that it replaces no module of Python or of a package."""
    place = str(folder / "src" if (folder / "src").is_dir() else folder)
    if place not in sys.path:
        sys.path.append(place)


def _where(error: BaseException) -> str:
    """Return the message of an error that a plugin raised, with the line of the plugin."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and frame.filename != __file__
    ]
    place = f"; {short_path(Path(frames[-1].filename))}, line {frames[-1].lineno}" if frames else ""
    return f"{message_of(error)}{place}"
