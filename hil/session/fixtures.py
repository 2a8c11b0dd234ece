"""The fixtures of the bench (docs/device-tests.md). A session without --board imports only their names."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

from hil.errors import Blocked, RigError, shown
from hil.session.run_state import BENCH, KEEPER, TRACKER, WRITER, disk_error
from hil.session.selection import NO_BOARD

if TYPE_CHECKING:
    from hil.comparison import Comparison, Learning, Reference, Tolerance
    from hil.dut import Dut
    from hil.gates import Judgement
    from hil.record import TrialWriter
    from hil.rig import Rig
    from hil.session.device_use import DeviceUse

T = TypeVar("T")


class Compare(Protocol):
    """Begins a comparison of the device with a reference; arguments and errors as `hil.comparison.compare`."""

    def __call__(  # noqa: PLR0913 - public: the arguments of `hil.comparison.compare`
        self, reference: Reference, *, exact: bool = False, ulp: int | None = None, rtol: float | None = None,
        atol: float | None = None, mean_abs: float | None = None, max_abs: float | None = None,
        by_tensor: Mapping[str, Tolerance] | None = None, name: str = "", keep_going: bool = False,
    ) -> Comparison:  # fmt: skip
        """Begin it."""


class GiveFigure(Protocol):
    """Gives a figure of the device, and holds it against its budgets."""

    def __call__(
        self, name: str, value: Any, unit: str = "1", provenance: str | None = None,
        uncertainty: float | None = None, budget: str | Sequence[str] | None = None,
    ) -> tuple[Judgement, ...]:  # fmt: skip
        """Give it."""


@pytest.fixture(scope="session")
def run_record(request: pytest.FixtureRequest) -> TrialWriter:
    """The folder of this run."""
    if WRITER not in request.config.stash:
        pytest.skip(NO_BOARD)
    return request.config.stash[WRITER]


@pytest.fixture(scope="session")
def hil_rig(request: pytest.FixtureRequest, run_record: TrialWriter) -> Iterator[Rig]:
    """The rig of this session. A board that it has taken stays locked until the session ends."""
    from hil.rig import Rig

    config = request.config
    worker = getattr(config, "workerinput", None)  # of pytest-xdist
    logs = run_record.folder / (f"benches-{worker['workerid']}" if worker is not None else "benches")
    try:
        logs.mkdir(exist_ok=True)  # it exists if a plugin that repeats tests tore this fixture down before
    except OSError as error:
        raise disk_error(run_record.folder, error) from error
    wait_s, keeper = float(config.getoption("wait")), config.stash[KEEPER]
    with Rig(config.stash[BENCH], logs, config.getoption("reality"), wait_s, keeper) as rig:
        yield rig
    keeper.close()


@pytest.fixture(scope="session")
def hil_reflash(request: pytest.FixtureRequest) -> set[str]:
    """The boards that --reflash has yet to program: once for each board, because flash wears out."""
    return set(request.config.getoption("board")) if request.config.getoption("reflash") else set()


@pytest.fixture
def hil_device_use(request: pytest.FixtureRequest, run_record: TrialWriter) -> Iterator[DeviceUse]:
    """What the test does with its device; the other fixtures write into it."""
    from hil.session.device_use import DeviceUse

    tracker = request.node.stash[TRACKER]
    tracker.uses_rig = True  # not known before if the test calls request.getfixturevalue
    bench = request.config.stash[BENCH]
    try:
        use = DeviceUse(request.node, run_record, bench, tracker.entry.test, tracker.entry.board)
    except OSError as error:
        raise disk_error(run_record.folder, error) from error
    tracker.device = use
    yield use
    use.end()


@pytest.fixture
def hil_board(request: pytest.FixtureRequest, run_record: TrialWriter) -> str:
    """The board of --board. A test that has it, or hil_dut, among its fixtures runs once on each named board."""
    chosen: list[str] = request.config.getoption("board")
    if len(chosen) > 1:  # by request.getfixturevalue
        raise RigError(
            "several boards are named, and the test asks for one while it runs: give it the fixture hil_dut."
        )
    return chosen[0]


@pytest.fixture
def hil_dut(
    request: pytest.FixtureRequest, hil_device_use: DeviceUse, hil_board: str, hil_rig: Rig, hil_reflash: set[str]
) -> Iterator[Dut]:
    """The device under test: a board of --board, flashed and reset, with its serial port open.

    Its firmware is that of --elf, else `elf` in the board's table of rig.toml, else the prebuilt image.
    """
    with _device(request.config, hil_device_use, hil_board, hil_rig, hil_reflash) as dut:
        yield dut


@pytest.fixture
def hil_duts(
    request: pytest.FixtureRequest, hil_device_use: DeviceUse, hil_board: str, hil_rig: Rig, hil_reflash: set[str]
) -> Iterator[Callable[[int], list[Dut]]]:
    """A function that gives several devices of a board of --board, each as hil_dut gives one.

    Raises RigError if rig.toml names fewer.
    """
    with contextlib.ExitStack() as stack:

        def several(count: Any = None) -> list[Dut]:
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise RigError(f"hil_duts was given {shown(count)}: say how many devices the test needs.")
            there, needed = len(hil_rig.bench.of_kind(hil_board)), len(hil_device_use.duts) + count
            if hil_rig.attached(hil_board) and needed > max(1, there):
                raise RigError(
                    f"this session has {'one' if there == 1 else there} {hil_board}, and the test needs {needed}: name "
                    f"more in rig.toml, ask for all by --board={hil_board}, or use stand-ins (--reality=virtual)."
                )
            devices = (request.config, hil_device_use, hil_board, hil_rig, hil_reflash)
            return [stack.enter_context(_device(*devices)) for _ in range(count)]

        yield _asked(hil_device_use, "hil_duts", several)


@pytest.fixture
def hil_compare(hil_device_use: DeviceUse) -> Compare:
    """A function that begins a comparison with a reference. The test has its verdict, also if nobody looks."""
    from hil.comparison import compare

    def begin(*given: Any, **how: Any) -> Comparison:
        kept = hil_device_use.keep_tensors(str(how.get("name", "")))
        comparison = compare(*given, seen=kept.step, **how)
        hil_device_use.add_comparison(comparison, kept)
        return comparison

    return _asked(hil_device_use, "hil_compare", begin, _signature_of(compare, without="seen"))


@pytest.fixture
def hil_figure(hil_device_use: DeviceUse) -> GiveFigure:
    """A function that records a figure of the device, and holds it against its budgets.

    The test fails at its end if a budget is missed. The function returns what may be said of each budget.
    """

    from hil.session.device_figures import judged_figure, noted, quantity_of

    def give(
        name: str, value: Any, unit: str = "1", provenance: str | None = None, uncertainty: float | None = None,
        budget: str | Sequence[str] | None = None,
    ) -> tuple[Judgement, ...]:  # fmt: skip
        quantity = quantity_of(name, value, unit, provenance, uncertainty, hil_device_use.reality)
        quantity = noted(quantity, hil_device_use.unverified)
        gates = hil_device_use.gates_of(name, quantity, budget)
        figure = judged_figure(name, quantity, gates, lambda gate: hil_device_use.median(gate, quantity))
        hil_device_use.give(figure)
        return figure.judgements

    return _asked(hil_device_use, "hil_figure", give)


@pytest.fixture
def expect_learning(hil_device_use: DeviceUse) -> Callable[..., Learning]:
    """`hil.comparison.expect_learning`, recorded. The test fails if the device does not learn, also if nobody looks."""
    from hil.comparison import expect_learning as judge_learning

    def judged(*given: Any, **how: Any) -> Learning:
        found = judge_learning(*given, **how)
        hil_device_use.learning.append(found)
        hil_device_use.warnings += found.warnings
        return found

    return _asked(hil_device_use, "expect_learning", judged, inspect.signature(judge_learning))


@contextlib.contextmanager
def _device(config: pytest.Config, use: DeviceUse, board: str, rig: Rig, reflash: set[str]) -> Iterator[Dut]:
    """Give a device that is flashed and reset, with its port open."""
    from hil.dut import opened

    use.board = board
    elf = config.stash[BENCH].firmware(board, config.getoption("elf"))
    folder = use.folder / f"device-{len(use.duts) + 1}" if use.duts else use.folder
    taken = [dut.record.place for dut in use.duts]
    semihosting = config.getoption("semihosting")
    with opened(
        rig,
        board,
        elf,
        folder,
        tell=lambda sentence: _tell(config, sentence),
        other_than=taken,
        semihosting=semihosting,
    ) as dut:
        use.add_device(dut)
        if dut.has_port:
            # Opened before the reset, so that nothing is lost which the firmware prints first. A board whose firmware
            # makes the port (USB) may have none before it is flashed.
            with contextlib.suppress(Blocked):
                _ = dut.serial
        dut.flash(always=board in reflash)
        reflash.discard(board)
        _ = dut.serial if dut.has_port else None
        dut.raised.clear()  # of a port that came with the firmware
        try:
            yield dut
        finally:
            use.look_again(dut)
            dut.end(lambda: use.too_late("the device of hil_dut"))


def _asked(
    use: DeviceUse, name: str, function: Callable[..., T], signature: inspect.Signature | None = None
) -> Callable[..., T]:
    """Return a function whose errors are the test's, also if the test catches them.

    A call that does not fit the `signature` (default: that of the function) is a refused request, not a TypeError.
    """
    fits = signature or inspect.signature(function)

    def ask(*given: Any, **how: Any) -> T:
        if use.has_ended:
            raise use.too_late(name)
        try:
            try:
                fits.bind(*given, **how)
            except TypeError as error:
                raise RigError(f"{name}: {error}.") from error
            return function(*given, **how)
        except RigError as error:
            use.failed(error)
            raise

    return ask


def _signature_of(function: Callable[..., Any], without: str) -> inspect.Signature:
    """Return the signature of a function without one parameter, which a fixture gives."""
    whole = inspect.signature(function)
    return whole.replace(parameters=[each for name, each in whole.parameters.items() if name != without])


def _tell(config: pytest.Config, sentence: str) -> None:
    """Show the operator a sentence, such as which button to press, though pytest captures the output."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\ntrainrig: {sentence}", flush=True)
