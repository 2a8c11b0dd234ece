"""Stages in order: what stops the rest, what a stage needs, and the outcome of each error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.errors import Blocked, DeviceFault, RigError
from hil.first_light import BringUp, Danger, NotPossible, Outcome, Seen, Stage, bring_up, stages
from hil.first_light.stage_list import HOUSE

from .fake_board import brought_up

ENDS = {
    "pass": lambda: Seen("all", "well"), "fail": lambda: Seen("less", "bad", passed=False),
    "fault": DeviceFault("it is broken."), "blocked": Blocked("probe", "the cable is loose: push it in."),
    "refused": RigError("there is no such thing."), "never": NotPossible("there is none."),
}  # fmt: skip
OUTCOMES = {
    "pass": Outcome.PASS, "fail": Outcome.FAIL, "fault": Outcome.FAIL, "blocked": Outcome.BLOCKED,
    "refused": Outcome.BLOCKED, "never": Outcome.NOT_POSSIBLE,
}  # fmt: skip


def stage(number: int, end: str, gated: bool = False, wants: tuple[str, ...] = ()) -> Stage:
    class One(Stage):
        name, assumes, expected, danger, gate, needs = f"s{number}", "a", "b", Danger.READS, gated, wants

        def run(self, on: BringUp) -> Seen:
            on.figures.setdefault("ran", []).append(self.name)
            made = ENDS[end]
            if isinstance(made, Exception):
                raise made
            return made()  # type: ignore[operator,no-any-return]

    return One()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(ENDS)), st.booleans()), min_size=1, max_size=8))
def test_nothing_is_done_after_a_gate_that_did_not_pass(tmp_path: Path, drawn: list[tuple[str, bool]]) -> None:
    on = brought_up("rp2040", tmp_path)
    told: list[str] = []
    results = bring_up(on, [stage(n, end, gate) for n, (end, gate) in enumerate(drawn)], lambda r: told.append(r.name))
    first = next(
        (n for n, (end, gate) in enumerate(drawn) if gate and OUTCOMES[end] in (Outcome.FAIL, Outcome.BLOCKED)),
        len(drawn),
    )
    wanted = [OUTCOMES[end] if n <= first else Outcome.NOT_REACHED for n, (end, _) in enumerate(drawn)]
    assert [result.outcome for result in results] == [outcome.value for outcome in wanted]
    assert on.figures["ran"] == [f"s{n}" for n in range(min(first + 1, len(drawn)))]
    assert told == [result.name for result in results]


@pytest.mark.parametrize(
    ("end", "then"),
    [("pass", "pass"), ("fail", "not reached"), ("blocked", "not reached"), ("never", "not possible here")],
)
def test_a_stage_that_says_nothing_without_another(tmp_path: Path, end: str, then: str) -> None:
    results = bring_up(brought_up("rp2040", tmp_path), [stage(0, end), stage(1, "pass", wants=("s0",))])
    assert results[1].outcome == then
    assert then == "pass" or results[1].meaning == "it says nothing without the stage s0."


def test_what_was_seen_is_the_error() -> None:
    results = bring_up(brought_up("rp2040", Path()), [stage(n, end) for n, end in enumerate(sorted(ENDS))])
    seen = dict(zip(sorted(ENDS), results, strict=True))
    assert seen["fault"].seen == "it is broken." and "the board" in seen["fault"].meaning
    assert seen["blocked"].seen == "the cable is loose: push it in." and "the rig" in seen["blocked"].meaning
    assert seen["never"].meaning == "there is none."


def test_the_stages_go_from_the_least_dangerous_to_the_most() -> None:
    dangers = [kind.danger for kind in HOUSE]
    first_flash = dangers.index(Danger.FLASH)
    assert Danger.RAM not in dangers[: [kind.name for kind in HOUSE].index("supply")]
    assert Danger.FLASH not in dangers[:first_flash] and first_flash > dangers.index(Danger.RAM)
    before = [kind.name for kind in HOUSE[:first_flash]]
    assert before.index("debug port") < before.index("target identity") < before.index("RAM")  # locks are said first


def test_every_stage_has_a_name_of_its_own_and_needs_an_earlier_one() -> None:
    names = [kind.name for kind in HOUSE]
    assert len(set(names)) == len(names)
    for number, kind in enumerate(HOUSE):
        assert set(kind.needs) <= set(names[:number]), kind.name
        assert kind.assumes and kind.expected


def test_stages_of_clients_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    from hil.clients import Registered

    kinds = (type(stage(7, "pass")),)
    monkeypatch.setattr("hil.first_light.stage_list.registered", lambda group: (Registered("mine", kinds),))
    found = stages()
    assert [one.name for one in found[-2:]] == [HOUSE[-1].name, "s7"]
    broken = (Registered("mine", None, "the entry point mine cannot be loaded: repair that package."),)
    monkeypatch.setattr("hil.first_light.stage_list.registered", lambda group: broken)
    with pytest.raises(RigError, match="repair that package"):
        stages()
