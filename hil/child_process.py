"""Start Python programs whose imports the working folder cannot replace.

`python -m` and `python -c` put the working folder first on the path: a `random.py` or `serial.py` of the user there
would be run instead of the library. Python's own cure, `-P`, exists from 3.11 on. `-I` also ignores PYTHONPATH and the
user's packages. So a child is started as `python child_process.py MODULE ARGUMENTS...`: the folder of a script is first
on the path, not the working folder, and this script takes it away before it imports anything else.
"""

import sys

GARBAGE_AFTER = 50_000  # new objects, until Python searches for garbage; its own number is 700
HERE = __file__.rpartition("/")[0]
ROOT, _, PACKAGE = HERE.rpartition("/")


def module_command(module: str, *arguments: str, unbuffered: bool = False) -> list[str]:
    """Return the command that runs a module, as `python -m` does, in the environment of this process."""
    return [sys.executable, *(["-u"] if unbuffered else []), __file__, module, *arguments]


def interpreter() -> list[str]:
    """Return a command that runs code, as `python -u -c CODE`, for programs that start Python themselves."""
    return [sys.executable, "-u", __file__]


def script_command(script: str, *arguments: str) -> list[str]:
    """Return the command that runs a script that imports the standard library only, and starts fast."""
    return [sys.executable, "-I", "-S", script, *arguments]


def _make_safe() -> None:
    """Take the folder of this script from the path, and put the working folder and that of the package last.

    The working folder is on the path if PYTHONPATH names it, or if the package is installed from there as editable.
    """
    import os  # loaded already: Python's start needs it

    own, working = os.path.realpath(HERE), os.path.realpath(os.curdir)
    folders = [(folder, os.path.realpath(folder)) for folder in sys.path]
    sys.path[:] = [folder for folder, real in folders if real not in (own, working)]
    sys.path += [folder for folder, real in folders if real == working]
    sys.path += [] if ROOT in sys.path else [ROOT]


def _load_this_package() -> None:
    """Import the package that this script belongs to, whatever another folder of the path has of that name."""
    from importlib import util

    spec = util.spec_from_file_location(PACKAGE, f"{HERE}/__init__.py", submodule_search_locations=[HERE])
    assert spec is not None and spec.loader is not None
    sys.modules[PACKAGE] = package = util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _make_safe()
    _load_this_package()
    del sys.argv[0]
    while sys.argv[0] in ("-u", "-B"):  # `interpreter` has set the first, and Python's own variable sets the second
        del sys.argv[0]
    if sys.argv[0] == "-c":
        exec(sys.argv.pop(1), {"__name__": "__main__"})
    else:
        import gc
        import runpy

        gc.set_threshold(GARBAGE_AFTER)  # importing makes many objects that stay: to look at them takes a fifth of it
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
