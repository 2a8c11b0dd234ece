"""Files of a project with the name of a library that trainrig imports, such as an empty pyarrow.py beside the tests.

`python -m pytest` puts the working folder first on the path, and pytest the folders of tests and of conftest.py. Such a
file is then imported instead of the library. A name that is loaded already, from the library, does no harm.
"""

from __future__ import annotations

import contextlib
import os
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from hil.child_process import ROOT, interpreter
from hil.clients import PYTEST, registered
from hil.errors import short_path

OF_PYARROW = "pandas"  # which pyarrow imports where there is one, also a file of the project
# What a session imports, some of it late. Run in a process whose imports the project cannot replace.
NEEDED = (
    "import sys, hil.session.rig_session, hil.report.page, hil.report.views, hil.report.device_view, "
    "hil.coverage.keep, hil.history.live, hil.record.csv_table, numpy, pyarrow.parquet, sqlalchemy, {}; "
    "print(*{{name.partition('.')[0] for name in sys.modules}})"
)
HANG_S = 120.0
SHADOWED = pytest.StashKey[str | None]()  # of the config of a worker: the sentence about a file that its tests bring


def shadows(project: Path) -> dict[str, Path]:
    """Return the files of a project that replace a library, by the name of the module; those that do no harm too.

    Args:
        project: the root folder of pytest; the working folder is searched as well.
    """
    inside = [os.path.realpath(project), os.path.realpath(os.curdir)]
    libraries = {
        os.path.realpath(path)
        for path in (*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages(), ROOT)
    }
    found: dict[str, Path] = {}
    entries = [(entry, os.path.realpath(entry or os.curdir)) for entry in sys.path]
    own = [real for _, real in entries if real not in libraries and any(_is_below(real, each) for each in inside)]
    others = [entry for entry, real in entries if real not in own]
    for folder in dict.fromkeys(own):
        for path in _modules(folder):
            name = path.stem
            known = name == OF_PYARROW or name in sys.stdlib_module_names or PathFinder.find_spec(name, others)
            if known and name not in sys.builtin_module_names and _is_imported(name, path):
                found.setdefault(name, path)
    return found


def check(project: Path) -> None:
    """Check that no file of the project is imported instead of a library of this session.

    Raises:
        pytest.UsageError: one is; a process is started to tell, if any file has the name of a library.
    """
    sentence = shadowed(project)
    if sentence is not None:
        raise pytest.UsageError(sentence)


def shadowed(project: Path) -> str | None:
    """Return the sentence about a file that is imported instead of a library of this session; None without one."""
    found = shadows(project)
    if not found:
        return None
    try:
        done = subprocess.run(
            [*interpreter(), "-c", NEEDED.format(", ".join(_of_clients()) or "hil")],
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None  # what ails this computer is said where it first matters
    needed = {*done.stdout.split(), OF_PYARROW}
    return next((_sentence(name, path) for name, path in found.items() if name in needed), None)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Explain an error of the imports in a `with` block by a file of the working folder, if there is one.

    Raises:
        pytest.UsageError: a file was imported instead of a library.
    """
    try:
        yield
    except Exception as error:
        for name, path in shadows(Path.cwd()).items():
            if name in sys.modules:
                raise pytest.UsageError(_sentence(name, path)) from error
        raise


def _of_clients() -> list[str]:
    """Return the modules that plugins of clients import late, as they say in LATE_IMPORTS."""
    return [name for client in registered(PYTEST) for name in getattr(client.value, "LATE_IMPORTS", ())]


def _sentence(name: str, path: Path) -> str:
    shown = short_path(path)
    return f"{shown} is imported instead of the library {name!r}, which trainrig needs: rename it, and run again."


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}{os.sep}")


def _modules(folder: str) -> list[Path]:
    """Return the files of the modules and packages in a folder, sorted."""
    with contextlib.suppress(OSError):
        each = sorted(Path(folder).iterdir())
        files = [path for path in each if path.suffix == ".py" and path.stem != "__init__"]
        return files + [path for path in each if (path / "__init__.py").is_file()]
    return []


def _is_imported(name: str, path: Path) -> bool:
    """Return whether `import name` gives a file of the project, or did."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return file is not None and Path(file).resolve() in (path.resolve(), (path / "__init__.py").resolve())
    spec = PathFinder.find_spec(name, sys.path)
    return spec is not None and spec.origin is not None and _is_below(os.path.realpath(spec.origin), str(path.parent))
