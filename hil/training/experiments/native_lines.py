"""What a run trains with: the library in C is made before the runs begin, file by file, or it is said why it is not."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hil.training.reference.native import build

SLOWER = 60  # times, of whole steps in NumPy


def make_library(console: Console) -> None:
    """Make the library in C if it is not there, with its progress, and say in a line whether runs train with it."""
    columns = TextColumn("compiling the reference in C"), BarColumn(bar_width=20), MofNCompleteColumn()
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None, visible=False)

            def tell(done: int, files: int) -> None:
                progress.update(task, completed=done, total=files, visible=True)
                if not console.is_terminal and done == 1:
                    console.print(f"compiling {files} files of the reference in C", highlight=False)

            build.library(told=tell)
    except build.NotBuilt as reason:
        text = f"runs train in NumPy, up to {SLOWER} times slower than in C: {reason}"
    else:
        text = "runs train in C, or in NumPy where there is no C of a method or network"
    console.print(text, highlight=False, soft_wrap=True)
