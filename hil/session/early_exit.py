"""A test that ends the process of pytest with os._exit: the run is not green, whatever the code."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from hil.errors import printable
from hil.session.recorder import RunRecorder

ENDED_BY = (
    "{} ended the process of pytest by os._exit({}), so that no test after it ran: take the call out of it, or run "
    "with -n 1, where only a worker ends."
)


def guard_exit(config: pytest.Config, recorder: RunRecorder) -> None:
    """Replace os._exit until pytest ends, so that the record says who called it, and the exit code is not 0.

    It is as before in other processes, such as a fork, and after the record is complete. A library that ends the
    process without Python cannot be seen here: then the record has no end, and `hil verify` says so.
    """
    real, process = os._exit, os.getpid()

    def exit_noticed(status: int) -> None:
        if os.getpid() == process:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0] or "a test"
            sentence = printable(ENDED_BY.format(test, status))
            code = status or int(pytest.ExitCode.TESTS_FAILED)
            if recorder.end_early(sentence.rstrip("."), code):
                with contextlib.suppress(Exception):
                    config.pluginmanager.getplugin("capturemanager").suspend_global_capture(in_=True)
                print(f"\ntrainrig: {sentence}", file=sys.__stderr__, flush=True)
                status = code
        real(status)

    os._exit = exit_noticed  # type: ignore[assignment]
    config.add_cleanup(lambda: setattr(os, "_exit", real))
