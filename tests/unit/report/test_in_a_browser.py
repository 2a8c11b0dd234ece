"""The pages of a run as a real browser shows them: nothing overlaps, overflows, is blank, unreadable or asked for elsewhere.

With PAGE_PICTURES=FOLDER in the environment every page is also written there as a PNG, at every width, with everything unfolded.
"""

import os
import xml.etree.ElementTree as ET
from contextlib import closing
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow.parquet as pq
import pytest

from hil.commands.power_server import PageServer
from hil.energy.capture import Capture, Edge
from hil.energy.live_trace import LiveTrace
from hil.record import AskedTest, RunWriter, TrialExtras
from hil.record.checks.junit import TAGS
from hil.report import formats, render, render_single
from hil.report.power_page import WatchedMeter, power_page, watched_data

from .chromium import Chromium, find
from .conftest import (
    GRADIENTS,
    LIMITS,
    SRAM,
    WHOLE,
    agreeing,
    blocked_trial,
    make_captures,
    make_latency,
    make_steps,
    make_trial,
)
from .test_energy_section import FULL

pytestmark = pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
WIDTHS = {390: "dark", 1280: "light", 1920: "dark"}
UNVERIFIED = f"of the Keithley 2450's data sheet is unverified: {', '.join(f'figure number {n} that nobody has checked' for n in range(9))}."
REASON = "step 41: 3 of 40 weights of conv2 differ; the first is weight[113], 12 on the board and -12 in the reference."
DIFFERENCE = {"step": 41, "layer": "conv2", "what": "weight", "index": 113, "board": 12, "reference": -12}
SUITE = "hil/suite/test_training.py::test_elasticzo_int8"
SLOTS = [
    f"{layer}{way}"
    for way in ("", " backward")
    for layer in ("conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "fc1", "relu3", "fc2", "relu4", "fc3")
]
PLAN = {"total": 9000, "slots": SLOTS, "buffers": [
    {"name": name, "size": 1500, "offset": 1500 * number, "first": number, "last": number + 9} for number, name in enumerate(("blob", "act[0]", "acc[0]", "err[0]", "grad[0]", "noise"))
]}  # fmt: skip
NAMES = [f"layer {number}" for number in range(12)]


def wide_captures():
    """A window whose edges are known to 1.25 ms."""
    (whole,) = make_captures()
    edges = tuple(Edge(edge.t_s, 1.25e-3, edge.high) for edge in whole.edges)
    return [Capture(whole.t_s, whole.power_w, whole.current_a, whole.voltage_v, 0.00225, 0.0025, edges, 0.1, 0)]


def asked(name, verdict="pass", reason="", board="stm32h7b3"):
    return AskedTest(
        test=name,
        board=board,
        verdict=verdict,
        reason=reason,
        outcome={"pass": "passed", "skipped": "skipped"}.get(verdict, "failed"),
        repeat=f"pytest '{name}' --board={board}",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with every verdict, one trial with everything that is measured, logs, and a bench that said something."""
    run = RunWriter.begin(tmp_path_factory.mktemp("reports"))
    curve = {step: 0.096 + 0.572 * step / 200 for step in range(0, 201, 25)}  # to the accuracy of `make_trial`
    evaluations = [{"step": step, "board": share, "reference": share, "n": 500} for step, share in curve.items()]
    profile = {
        way: {name: 6_000_128 // (number + 1) for number, name in enumerate(NAMES)} for way in ("forward", "backward")
    }
    whole = WHOLE | {
        "memory_plan": PLAN,
        "sram": SRAM | LIMITS | {"planned": PLAN["total"]},
        "latency": make_latency(),
        "evaluations": evaluations,
        "profile": profile,
    }
    flags = ["only 5 readings a step.", UNVERIFIED]
    phases = FULL["phases"] | {"seconds": dict.fromkeys(("perturb", "forward", "backward", "update"), 0.001), "refusals": {
        name: f"the phase '{name}' takes 1.16 ms a step in 2 stretches and a reading 2.5 ms: 10 readings of each are needed." for name in ("perturb", "backward", "update")
    }}  # fmt: skip
    passed = make_trial(
        sample_gradients=GRADIENTS,
        **whole | {"energy": FULL | {"flags": flags, "phases": phases}, "test": f"{SUITE}[stm32h7b3-cls1]"},
    )
    gradients = {"left_out": "board and reference differ.", "steps": [], "layers": []}
    failed = make_trial(
        sample_gradients=gradients,
        variant="cls2",
        verdict="fail",
        reason=REASON,
        bit_exact=False,
        first_difference=DIFFERENCE,
        test=f"{SUITE}[stm32h7b3-cls2]",
    )
    blocked = blocked_trial("the port of stm32h7b3 is gone: plug the board in again.")
    blocked.variant, blocked.test = "full-zo", f"{SUITE}[stm32h7b3-full-zo]"
    steps = make_steps(200)
    different = make_steps(42)
    different["match"][41], different["loss_plus"][41] = False, 3.0
    reason = "steps is -1: give 1 or more."
    run.plan([
        asked(passed.test), asked(failed.test, "fail", REASON), asked(blocked.test, "blocked", blocked.reason),
        asked("tests/test_mine.py::test_with_a_rather_long_name_that_does_not_break[stm32h7b3-wrong-steps]", "refused", reason),
        AskedTest(test="tests/test_mine.py::test_that_did_not_end", board="stm32h7b3"), asked("tests/test_mine.py::test_left_out", "skipped", "no meter.", None),
    ])  # fmt: skip
    for trial, table, power in (
        (passed, steps, wide_captures() * len(passed.energy["windows"])),
        (failed, different, ()),
        (blocked, make_steps(0), ()),
    ):
        place = run.trial_folder(f"stm32h7b3-lenet5-elasticzo-int8-{trial.variant}-seed1")
        (place / "log").mkdir()
        for stage in ("plan", "bench"):
            lines = [
                f"09:19:{second:02d}.743 hil.targets.probe_process: {stage} says <b>line {second}</b> of many, {'x' * second * 9}"
                for second in range(60)
            ]
            (place / "log" / f"{stage}.log").write_text("\n".join(lines))
        run.write_trial(*agreeing(trial, table), place, TrialExtras(power))
    (run.folder / "benches").mkdir()
    (run.folder / "benches" / "stm32h7b3.log").write_text("PF10 goes high\n")
    (run.folder / "junit.xml").write_bytes(junit_of(run.tests, run.trials))
    run.finish(exit_code=1, missing=["the trial of a worker that was killed."])
    render(run.folder)
    render_single(run.folder)
    return run.folder


def junit_of(tests, trials):
    """Return the JUnit file of tests as pytest and the plugin write it."""
    suite = ET.Element("testsuite", tests=str(len(tests)))
    for test in tests:
        path, _, name = test.test.partition("::")
        case = ET.SubElement(suite, "testcase", classname=path.removesuffix(".py").replace("/", "."), name=name)
        own = [trial for trial in trials if trial.folder in test.trials]
        properties = ET.SubElement(case, "properties")
        told = {
            "verdict": test.verdict, "reason": test.reason, "trials": " ".join(test.trials), "board": test.board or "none",
            "reality": ", ".join(dict.fromkeys(trial.reality or "none" for trial in own)) or "none",
            "stage": next((trial.stage for trial in own if trial.stage), ""),
            "steps_compared": str(sum(trial.steps_compared for trial in own)),
        }  # fmt: skip
        for field, value in told.items():
            ET.SubElement(properties, "property", name=field, value=value)
        if TAGS[test.verdict][0]:
            ET.SubElement(case, TAGS[test.verdict][0])
    for attribute, tag in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(attribute, str(len(list(suite.iter(tag)))))
    root = ET.Element("testsuites")
    root.append(suite)
    return ET.tostring(root)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def page_of(folder, name):
    if name == "overview":
        return folder / "index.html"
    (found,) = folder.glob("trainrig-*.html") if name == "single" else folder.glob(f"*-{name}-seed1/index.html")
    return found


PAGES = ("overview", "cls1", "cls2", "full-zo", "single")
DRAW_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
ALL_DRAWN = (
    "[...document.querySelectorAll('.plot')].every(box => (box.scrollIntoView(), box.querySelector('.main-svg')))"
)
UNREADABLE = """(() => {
  const numbers = said => said.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = at => { for (; at; at = at.parentElement) { const c = numbers(getComputedStyle(at).backgroundColor); if (c.length < 4 || c[3] > 0.99) return c; } return [255, 255, 255]; };
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const at = node.parentElement, style = getComputedStyle(at);
    if (!node.textContent.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(at.tagName) || !at.getClientRects().length || at.closest(".skip, .hoverlayer")) continue;
    const [a, b] = [light(numbers(at.ownerSVGElement ? style.fill : style.color)), light(ground(at))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([node.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return found;
})()"""
COLLISIONS = """(() => {
  const found = [], near = 1;
  const meet = (a, b) => a.left < b.right - near && b.left < a.right - near && a.top < b.bottom - near && b.top < a.bottom - near;
  for (const box of document.querySelectorAll(".plot")) {
    const frame = box.getBoundingClientRect();
    const titles = [...box.querySelectorAll('[class*="title"] text, text[class*="title"]')], texts = [...box.querySelectorAll(".main-svg text")].filter(one => one.textContent.trim());
    for (const text of texts) {
      const r = text.getBoundingClientRect();
      if (r.width && (r.left < frame.left - near || r.right > frame.right + near || r.top < frame.top - near || r.bottom > frame.bottom + near)) found.push([box.id, text.textContent, "out of the figure"]);
    }
    for (const title of titles) for (const other of texts) {
      if (other !== title && !title.contains(other) && meet(title.getBoundingClientRect(), other.getBoundingClientRect())) found.push([box.id, title.textContent, other.textContent]);
    }
    for (const ticks of box.querySelectorAll(".xaxislayer-above")) {
      const level = [...ticks.querySelectorAll("text")].filter(one => one.textContent.trim() && !(one.getAttribute("transform") || "").match(/rotate\\((?!0)/)).map(one => one.getBoundingClientRect());
      for (let i = 1; i < level.length; i++) if (meet(level[i - 1], level[i])) found.push([box.id, "numbers of an axis"]);
    }
  }
  return found;
})()"""
BLANKS = """[...document.querySelectorAll("tbody tr")].filter(row => row.getClientRects().length).map(row => {
  const view = row.closest(".scroll").getBoundingClientRect(), whole = row.getBoundingClientRect();
  let bottom = whole.top;
  for (const cell of row.cells) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    for (const r of range.getClientRects()) if (r.left < view.right && r.right > view.left) bottom = Math.max(bottom, r.bottom);
  }
  return [whole.bottom - bottom, row.textContent.trim().slice(0, 60)];
}).filter(([blank]) => blank > 40)"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_whole_at_every_width(folder, browser, name, width):
    with closing(browser.open(page_of(folder, name), width, WIDTHS[width])) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        folded = page.evaluate("document.documentElement.scrollHeight")
        page.evaluate(DRAW_ALL)
        page.until(ALL_DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "with everything unfolded"
        if picture := os.environ.get("PAGE_PICTURES"):
            page.picture(Path(picture) / f"{name}-{width}.png")
        assert page.evaluate(COLLISIONS) == []
        assert page.evaluate(BLANKS) == []
        assert page.evaluate(UNREADABLE) == []
        assert page.faults == []
        inside = folder.resolve().as_uri() + "/"
        assert [address for address in page.requests if not address.startswith((inside, "data:", "blob:"))] == []
        bound = {"overview": 3_500, "single": 12_000, "cls1": 11_000}.get(name, 9_000)  # cls1 has every section
        assert folded <= bound


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_something(folder, browser, name):
    path = page_of(folder, name)
    with closing(browser.open(path, 1280)) as page:
        leads = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => [a.getAttribute('href'), a.href])")
        assert leads
        for said, address in leads:
            if said.startswith("#"):
                assert page.evaluate(f"!!document.getElementById({said[1:]!r})"), said
            else:
                assert Path(unquote(urlparse(address).path)).is_file(), said


def test_every_file_of_the_run_is_linked_to(folder, browser):
    with closing(browser.open(folder / "index.html", 1280)) as page:
        linked = set(
            page.evaluate(
                "[...document.querySelectorAll('a[href]')].map(a => decodeURIComponent(new URL(a.href).pathname))"
            )
        )
    pages = ("index.html", "plotly.js")
    files = {
        str(path)
        for path in folder.resolve().rglob("*")
        if path.is_file() and path.name not in pages and path.suffix != ".html"
    }
    assert files and files <= linked
    assert {str(path) for path in folder.resolve().glob("*/index.html")} <= linked


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_screen_says_whether_it_is_fine_and_what_it_costs(folder, browser, width):
    with closing(browser.open(folder / "index.html", width)) as page:
        seen = page.evaluate(
            "[...document.querySelectorAll('h1, h1 + p, .banner, .totals li, .cards dd, .trials tr')].filter(one => one.getBoundingClientRect().top < innerHeight).map(one => one.innerText)"
        )
    seen = "\n".join(seen).replace("\N{NO-BREAK SPACE}", " ")
    assert "1 of 6 pass" in seen and seen.startswith("Not fine") and "killed" in seen
    assert "141.02 ms" in seen and "mJ" in seen and "197.8 KiB" in seen and "modelled" in seen and "counted" in seen


def test_what_failed_stands_first(folder, browser):
    with closing(browser.open(folder / "index.html", 1280)) as page:
        verdicts = page.evaluate("[...document.querySelectorAll('.trials .verdict')].map(one => one.textContent)")
    assert verdicts == ["fail", "refused", "interrupted", "blocked", "skipped", "pass"]


@pytest.mark.parametrize(("name", "reason"), [("cls2", REASON), ("full-zo", "plug the board in again")])
def test_reason_and_log_stand_before_all_else(folder, browser, name, reason):
    with closing(browser.open(page_of(folder, name), 1280)) as page:
        places = page.evaluate(
            "[...document.querySelectorAll('h1, .reason, pre.log, .cards, section')].map(one => [one.className || one.tagName, one.innerText, one.getBoundingClientRect().bottom])"
        )
        assert [kind.partition(" ")[0] for kind, _, _ in places][:3] == ["H1", "reason", "log"]
        assert reason in places[1][1] and "line 59" in places[2][1] and "line 10" not in places[2][1]
        assert places[2][2] < 900, "on the first screen"
        empty = page.evaluate(
            "[...document.querySelectorAll('tbody tr')].filter(row => row.checkVisibility() && [...row.cells].slice(1).every(cell => /^[–\\s]*$/.test(cell.innerText))).length"
        )
        assert empty == 0, "no row of dashes"


def test_without_the_library_a_page_says_so_and_keeps_its_tables(folder, browser, tmp_path):
    alone = tmp_path / "alone" / "index.html"
    alone.parent.mkdir()
    alone.write_bytes(page_of(folder, "cls1").read_bytes())
    with closing(browser.open(alone, 390)) as page:
        page.until("!document.querySelector('.undrawn').hidden")
        assert page.evaluate("document.querySelectorAll('.main-svg').length") == 0
        assert page.evaluate("document.querySelectorAll('table').length") > 5
        assert not [fault for fault in page.faults if "exceptionDetails" in fault]


def test_every_stop_of_the_keyboard_is_seen(folder, browser):
    with closing(browser.open(page_of(folder, "cls1"), 1280)) as page:
        stops = page.evaluate(
            "[...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')].filter(one => one.checkVisibility()).length"
        )
        for _ in range(min(stops, 60)):
            page.press("Tab")
            tag, outline = page.evaluate(
                "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
            )
            assert tag != "BODY" and outline != "none", tag


def test_the_power_trace_is_zoomed_by_its_buttons(folder, browser):
    with closing(browser.open(page_of(folder, "single"), 1280)) as page:
        page.evaluate(
            "location.hash = document.querySelector('.trials a[href$=\"-trial\"][aria-label*=\"cls1\"]').getAttribute('href')"
        )
        page.until(
            "!![...document.querySelectorAll('details.trial')].find(one => one.open && one.querySelector('[id$=power]'))"
        )
        page.evaluate("document.querySelector('[data-zoom]').scrollIntoView()")
        page.until("!!document.querySelector('[id$=power] .main-svg')")
        span = "(r => r[1] - r[0])(document.querySelector('[id$=power].plot').layout.xaxis.range)"
        before = page.evaluate(span)
        page.evaluate("document.querySelector('[data-zoom=in]').click()")
        assert page.evaluate(span) == pytest.approx(before / 2, rel=0.05)


def test_what_is_unverified_is_folded_and_what_must_be_known_is_not(folder, browser):
    with closing(browser.open(page_of(folder, "cls1"), 390)) as page:
        shown = page.evaluate(
            "[...document.querySelectorAll('.warning')].filter(one => one.checkVisibility()).map(one => one.innerText).join('\\n')"
        )
        assert "only 5 readings a step" in shown and "unverified" not in shown
        assert "unverified" in page.evaluate("document.querySelector('details.small').textContent")
        first = page.evaluate("document.querySelector('.cards').getBoundingClientRect().top")
        assert first < 500, "the first figure is on the first screen of a phone"


def between(folder, a, b):
    """The energy between two times, by hand. This record does not say that its readings are means: lines join them."""
    (path,) = folder.glob("*-cls1-seed1/power.parquet")
    table = pq.read_table(path)
    t = table["t_s"].to_numpy()
    at = np.concatenate([[a], t[(t > a) & (t < b)], [b]])
    return float(np.trapezoid(np.interp(at, t, table["power_w"]), at))


CURSORS = "[...document.querySelectorAll('.cursor')].map(one => Number(one.getAttribute('aria-valuenow')))"


def drag(page, which, pixels):
    x, y = page.evaluate(
        f"(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelectorAll('.cursor')[{which}].getBoundingClientRect())"
    )
    for kind, at in (
        ("mousePressed", x),
        ("mouseMoved", x + pixels / 2),
        ("mouseMoved", x + pixels),
        ("mouseReleased", x + pixels),
    ):
        page.ask("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)


def test_two_cursors_give_energy_charge_and_duration_between_them(folder, browser):
    """In figures as the page writes others, wherever they are dragged, and by keyboard."""
    with closing(browser.open(page_of(folder, "cls1"), 1280)) as page:
        page.evaluate("document.getElementById('plot-power').scrollIntoView()")
        page.until("document.querySelectorAll('.cursor').length === 2")

        def said(name):
            return page.evaluate(f"document.querySelector('.cursors [data-figure={name}]').textContent")

        def agrees():
            a, b = sorted(page.evaluate(CURSORS))
            joules = between(folder, a, b)
            for name, value, unit in (
                ("energy", joules, "J"),
                ("charge", joules / 3.3, "C"),
                ("duration", b - a, "s"),
                ("power", joules / (b - a), "W"),
            ):
                assert said(name) == formats.figure({"value": value, "uncertainty": None, "unit": unit}), name
            return a, b

        assert agrees() == pytest.approx((0.0, 0.281)), "from edge to edge"
        mouse = page.evaluate("matchMedia('(pointer: fine)').matches")
        dragging = page.evaluate("document.getElementById('plot-power').layout.dragmode")
        assert dragging == ("zoom" if mouse else False), "a finger that drags scrolls the page"
        drag(page, 1, -300)
        _, b = agrees()
        assert 0.0 < b < 0.2
        drag(page, 0, 400)
        a, b = agrees()
        assert b == pytest.approx(sorted(page.evaluate(CURSORS))[1]) and a > 0.02
        page.evaluate(
            "document.querySelector('.cursor').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', shiftKey: true }))"
        )
        assert agrees() != (a, b)
        page.evaluate("document.querySelector('[data-set=zoom]').click()")
        low, high = page.evaluate("document.getElementById('plot-power').layout.xaxis.range")
        assert low < agrees()[0] and agrees()[1] < high < 0.38
        for value, u in ((0.0278, 9.3e-5), (1.5e-6, 2e-8), (123.4, 0.5), (0.999, 0.2), (0.0, 0.001)):
            assert page.evaluate(f"figure({value}, 'J', {u})") == formats.figure(
                {"value": value, "uncertainty": u, "unit": "J"}
            )
        assert page.faults == []


def test_the_life_of_a_battery_follows_its_inputs(folder, browser):
    with closing(browser.open(page_of(folder, "cls1"), 390)) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.evaluate(
            "(form => { form.elements.capacity.value = 500; form.elements.voltage.value = 3; form.elements.duty.value = 10; form.dispatchEvent(new Event('input')); })(document.querySelector('.battery'))"
        )
        hours = 0.5 * 3 / (0.1 * 0.3131 + 0.9 * 0.1155)
        assert page.evaluate("document.querySelector('.battery output').textContent").startswith(f"{hours:.2f}")
        page.evaluate(
            "(form => { form.elements.duty.value = 110; form.dispatchEvent(new Event('input')); })(document.querySelector('.battery'))"
        )
        assert page.evaluate("document.querySelector('.battery output').textContent") == "–"


def test_the_page_of_a_watched_meter_grows_and_opens_without_a_server(browser, tmp_path):
    trace = LiveTrace()
    watched = WatchedMeter("Joulescope JS220", "u/js220/<1>", 3.3, "measured", datetime(2026, 1, 2, 3, 4, 5))

    def data():
        figures = {
            "now": 0.2,
            "mean": 0.15,
            "lowest": 0.1,
            "highest": 0.2,
            "energy": float(trace.columns()[1][-1]),
            "readings": 50,
        }
        return watched_data(trace, figures, 0.0, "", 3.3)

    trace.add(np.full(50, 0.1), 1.0)
    server = PageServer(power_page(watched, data(), 0.05), data())
    path = tmp_path / "saved.html"
    try:
        path.write_text(power_page(watched, data(), None))
        with closing(browser.open(path, 390, "dark")) as page:
            page.until("document.querySelectorAll('.cursor').length === 2")
            assert page.evaluate("document.querySelector('.cursors [data-figure=energy]').textContent") == "100\u00a0mJ"
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.until(ALL_DRAWN)
            assert page.evaluate(UNREADABLE) == [] and page.evaluate(COLLISIONS) == []
            page.ask("Page.navigate", url=server.url)
            page.until("document.querySelectorAll('.cursor').length === 2")
            trace.add(np.full(50, 0.2), 1.0)
            server.publish(data())
            page.until("document.querySelector('.cursors [data-figure=energy]').textContent === '300\u00a0mJ'")
            assert page.evaluate(
                "Math.max(...document.getElementById('plot-power').data[2].y.filter(Number.isFinite))"
            ) == pytest.approx(200)
            server.close()
            page.until("document.getElementById('state').textContent === 'ended'")
            asked = [address for address in page.requests if not address.startswith(("data:", "blob:"))]
            assert {address.split("data.json")[0] for address in asked} == {path.as_uri(), server.url}
    finally:
        server.close()
