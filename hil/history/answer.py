"""An answer of the history, asked for in a thread: no database hangs a trial."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from hil.threads import start

ANSWER_S = 10.0  # how long one trial of a session waits for a history that does not answer

T = TypeVar("T")


class NoAnswer(Exception):
    """The history did not answer in time; the message says so."""


def answer_of(question: Callable[[], T], name: str) -> T:
    """Return what a question returns; it must not raise. A question that is late goes on, and nobody hears its answer.

    Args:
        question: asks the history.
        name: of the thread.

    Raises:
        NoAnswer: it took longer than ANSWER_S.
        MemoryError, RuntimeError: the system gives no memory, or no thread.
    """
    answers: queue.Queue[T] = queue.Queue()
    start(threading.Thread(target=lambda: answers.put(question()), name=name, daemon=True))
    try:
        return answers.get(timeout=ANSWER_S)
    except queue.Empty:
        raise NoAnswer(f"the history did not answer within {ANSWER_S:g} s") from None
