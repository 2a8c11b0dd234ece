"""Run one trial to its verdict."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from hil.dut import ChipUnreachable, Dut, Hang
from hil.errors import (
    FOLDER_GONE,
    NO_MEMORY,
    NO_WORKING_FOLDER,
    Blocked,
    DeviceFault,
    RigError,
    short_path,
    working_folder,
)
from hil.gates import Earlier
from hil.link.failures import Silent
from hil.link.replies import ImplausibleReply
from hil.rig import Rig
from hil.steady_clock import SteadyClock, steady_s
from hil.training.reference.methods import StepFailed
from hil.training.trial.attempt import Attempt
from hil.training.trial.board import opened_board
from hil.training.trial.outcome import End, Outcome
from hil.training.trial.prepare import Prepared, prepare
from hil.training.trial.spec import TrialSpec
from hil.training.trial.stages import StageLogs, Watch

LOG = logging.getLogger(__name__)
NO_CALLBACKS = Watch()
TRACEBACK = "traceback.txt"  # file in the trial's folder with the traceback of an unexpected error
NO_THREAD = "can't start new thread"  # RuntimeError of threading.Thread.start if the system gives none
# stages of Blocked in which a power cycle may help: the board did not answer
CURED_BY_POWER = ("bench", "connect", "identify", "link")


def run_trial(
    spec: TrialSpec,
    rig: Rig,
    folder: Path,
    elf: Path | None = None,
    inject: tuple[str, ...] = (),
    reflash: bool = False,
    watch: Watch = NO_CALLBACKS,
    again: bool = True,
    earlier: Earlier | None = None,
    clock: SteadyClock | None = None,
) -> Outcome:
    """Run one trial to its verdict; faults of the rig and of the device end in the outcome, not in an exception.

    Args:
        spec: what to run.
        rig: supplies the board.
        folder: for `log/STAGE.log`, `bench.log`, output of a stand-in, and `traceback.txt` of an unexpected error.
        elf: the user's own firmware instead of the prebuilt image.
        inject: faults for the virtual board.
        reflash: program the board even if it holds the image.
        watch: callbacks while the trial runs.
        earlier: gives the figures of earlier nights, for relative budgets; None without a history.
        clock: of the run that the trial belongs to; by default the computer's.
        again: whether to start the trial again after a power cycle; if not, it is blocked at stage `power`.

    Raises:
        RigError: the request is wrong (unknown name, setting out of range); nothing was started.
        KeyboardInterrupt: Ctrl-C; `watch` has received the outcome, which says so.
    """
    started = steady_s()
    outcome = Outcome(spec, rig.bench.budgets_of(spec.board), earlier, (clock or SteadyClock.set()).stamp())
    stages = StageLogs(folder, watch.stage)
    prepared = _prepare(spec, elf, stages, folder)
    try:
        if isinstance(prepared, Blocked):
            raise prepared
        outcome.planned = prepared
        watch.begun(outcome)
        with contextlib.ExitStack() as stack:
            # the reference's products are small: BLAS threads would wait for each other
            stack.enter_context(threadpool_limits(1, "blas"))
            with stages("bench"):
                board = opened_board(rig, prepared.board, prepared.image, folder, watch.tell, inject)
                dut = stack.enter_context(board)
                LOG.info("%s", dut.endpoints)
            outcome.reality = dut.reality
            outcome.place = dut.record.place
            attempt = Attempt(prepared, dut, stages, watch, reflash)
            try:
                attempt.run(outcome)
            except RigError as error:
                if dut.endpoints.power is None or not _power_may_help(error):
                    raise
                with stages("power"):
                    outcome = _after_power_cycle(outcome, dut, error, watch.tell, again)
                attempt.run(outcome)
    except Blocked as error:
        outcome.place = outcome.place or error.place
        outcome.block(error)
    except ImplausibleReply as reply:
        outcome.figures.refuse(reply.figure, str(reply))
        outcome.fail(str(reply))
    except (DeviceFault, StepFailed) as fault:  # a step that fails on both sides is no fault of either
        outcome.fail(str(fault))
    except Exception as error:
        outcome.block(_unexpected(error, stages.current, folder))
    except BaseException as error:
        done = f"{len(outcome.steps):,} of {spec.steps:,} steps were compared"
        outcome.end = End("interrupted", f"{type(error).__name__} in stage {stages.current!r}: {done} before.")
        raise
    finally:
        outcome.wall_s = steady_s() - started
        outcome.notes += [stages.trouble] if stages.trouble else []
        try:
            outcome.judge()
        except Exception as error:
            outcome.block(_unexpected(error, "judge", folder))
        watch.ended(outcome)
    return outcome


def _prepare(spec: TrialSpec, elf: Path | None, stages: StageLogs, folder: Path) -> Prepared | Blocked:
    """Prepare the trial; or return why the board cannot run it or this computer cannot read what it needs.

    Raises:
        RigError: the request is wrong.
    """
    try:
        with stages("plan"):
            return prepare(spec, elf)
    except Blocked as blocked:
        return blocked
    except RigError:
        raise
    except Exception as error:
        return _unexpected(error, stages.current, folder)


def _unexpected(error: Exception, stage: str, folder: Path) -> Blocked:
    """Return Blocked for an unexpected error; write its traceback if it is a defect of the rig."""
    if isinstance(error, RigError):
        return Blocked(stage, str(error))
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        return Blocked("record", FOLDER_GONE.format(short_path(folder)))
    if isinstance(error, FileNotFoundError) and working_folder() is None:
        return Blocked(stage, NO_WORKING_FOLDER)
    if isinstance(error, OSError) and error.strerror:
        where = f": {Path(error.filename).name}" if isinstance(error.filename, str) else ""
        return Blocked(stage, f"{error.strerror}{where}: check this computer's disk and devices.")
    if isinstance(error, MemoryError) or str(error) == NO_THREAD:
        return Blocked(stage, NO_MEMORY)
    kept = f"report it with {TRACEBACK}"
    try:
        (folder / TRACEBACK).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as trouble:
        kept = f"report it; its traceback could not be written ({trouble.strerror})"
    return Blocked(stage, f"{type(error).__name__}: {error or 'no message'}: this is a defect of the rig, {kept}.")


def _power_may_help(error: RigError) -> bool:
    """Whether a power cycle may help: the board hangs, is silent or cannot be reached."""
    if isinstance(error, (Hang, Silent, ChipUnreachable)):
        return True
    return isinstance(error, Blocked) and error.stage in CURED_BY_POWER


def _after_power_cycle(
    outcome: Outcome, dut: Dut, error: RigError, tell: Callable[[str], None], again: bool
) -> Outcome:
    """Switch the board off and on; return a new outcome with a note that says so.

    Raises:
        Blocked: the power could not be switched, or `again` is false.
    """
    reason = error.reason if isinstance(error, Blocked) else str(error)
    try:
        switched = dut.power.cycle()
    except Blocked as blocked:
        raise Blocked("power", f"{reason} Its power could not be switched: {blocked.reason}") from error
    if not again:
        raise Blocked("power", f"{switched} was switched off and on, because {reason}") from error
    note = f"the trial began again after {switched} was switched off and on, because {reason}"
    tell(note)
    return outcome.again(note)
