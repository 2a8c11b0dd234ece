import re

import numpy as np
import plotly.graph_objects as go
import pytest

from hil.record import quantities
from hil.report import render, render_single
from hil.report.figures import differs, drawn_losses, loss_a_sample, loss_curve
from hil.report.memory import lifetimes, memory_bars
from hil.report.power import power_trace
from hil.training.methods.elasticzo_memory import plan
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build

from .conftest import PLAN, WHOLE, blocked_trial, make_captures, make_steps, make_trace, make_trial
from .rendered import overview_of, trial_of

NO_STEPS = {}


def names(figure):
    return [trace["name"] for trace in figure["data"]]


def test_a_virtual_run_never_says_measured_of_the_board(record):
    folder = record((make_trial(), make_steps(200)))
    assert "measured</span>" not in overview_of(folder)
    page = trial_of(folder)
    assert "No silicon here" in page and "No silicon here" in overview_of(folder)
    tags = re.findall(r'([^<>]*)<span class="tag measured"[^>]*>measured</span>', page)
    assert tags and all("host's clock" in before for before in tags)


def test_a_run_on_silicon_has_no_disclaimer_and_its_cycles_are_measured(record):
    folder = record((make_trial(reality="hardware", cycles_provenance="measured"), make_steps(200)))
    for page in (overview_of(folder), trial_of(folder)):
        assert "No silicon here" not in page and "Not all of this is silicon" not in page
    assert re.search(r'141.02 ms<br><span class="tag measured"[^>]*>measured</span>', overview_of(folder))


def test_one_stand_in_among_boards_is_still_announced(record):
    silicon = make_trial(reality="hardware", cycles_provenance="measured")
    body = overview_of(record((silicon, make_steps(60)), (make_trial(reality="qemu"), make_steps(60))))
    assert re.search(r'class="claim"><strong>Not all of this is silicon.</strong>[^<]*: qemu\.', body)


def test_time_from_cycles_of_a_stand_in_is_modelled(record):
    body = trial_of(record((make_trial(), make_steps(60))))
    row = re.search(r"time a step.*?</tr>", body, re.S)[0]
    assert '<span class="tag modelled"' in row and "measured" not in row and "counted" not in row
    counted = quantities(make_trial(cycles_provenance="counted"))  # of an older version: no reader takes it now
    assert counted["step_time_s"].provenance.value == "modelled"


def test_the_verdict_table_has_budget_reference_and_reason(record):
    reason = "SRAM in use is 300,000 bytes, the budget of stm32h7b3 is 262,144."
    body = overview_of(record((make_trial(verdict="fail", reason=reason), make_steps(60))))
    table = re.search(r'aria-label="Verdict table">.*?</table>', body, re.S)[0]
    assert "of 256 KiB" in table and "197.8 KiB" in table and reason in table


def test_figures_without_a_second_source_are_named_on_the_page(record):
    line = "<dt>reported by the firmware alone, no second source</dt><dd>{}</dd>"
    sources = {"clock_hz": ["catalogue"], "cycles": [], "arena_peak": ["plan", "probe"], "stack_peak": []}
    assert line.format("cycles, stack_peak") in trial_of(record((make_trial(second_sources=sources), make_steps(60))))
    assert line.format("nothing") in trial_of(
        record((make_trial(second_sources={"clock_hz": ["catalogue"]}), make_steps(60)))
    )


def test_settings_and_all_digests_are_on_the_page(record):
    trial = make_trial()
    body = trial_of(record((trial, make_steps(60))))
    wanted = [trial.image_sha256, trial.network_sha256, trial.data_sha256, trial.final_digest, *trial.digests]
    assert all(digest in body for digest in wanted)
    assert "<dt>r_max</dt><dd>7</dd>" in body
    assert re.search(r"2,186,681 B <span class=\"tag counted\"[^>]*>counted</span>", body)


def test_whose_firmware_ran_is_on_the_page(record):
    for in_manifest in (True, False):
        image = {"file": "mine.elf", "digest": "0badf00d", "in_manifest": in_manifest}
        body = trial_of(record((make_trial(image=image), make_steps(60))))
        assert "<code>mine.elf</code>, digest <code>0badf00d</code>" in body
        assert ("the user's own: not in the manifest" in body.replace("&#39;", "'")) is not in_manifest


def data_card(**changes):
    classes = [
        {"label": 0, "name": "<b>cat</b>", "train": 1200, "test": 31},
        {"label": 1, "name": "dog", "train": 7, "test": 0},
    ]
    card = {
        "name": "Pets", "kind": "images by class", "file": "pets", "changes": "+fog-5", "sha256": "d" * 64,
        "sha256_of": "all images", "licence": "CC0 & more", "source": "a shelter", "split": "by content", "split_seed": 9,
        "shape": [28, 28, 1], "range": None, "classes": classes,
    }  # fmt: skip
    return card | changes


def test_the_data_card_is_on_the_page(record):
    body = trial_of(record((make_trial(data_card=data_card()), make_steps(60))))
    for wanted in (
        "<dd>Pets+fog-5</dd>", "images by class, <code>pets</code>", "CC0 &amp; more", "a shelter", "by content; seed 9",
        "1,207 and 31, 28 x 28 x 1 bytes each", "d" * 64, "&lt;b&gt;cat&lt;/b&gt;",
        '<td>dog</td><td class="n">7</td><td class="n">0</td>',
    ):  # fmt: skip
        assert wanted in body, wanted
    assert "a byte p stands for" not in body and "<b>cat" not in body


def test_how_numbers_became_bytes_is_on_the_page(record):
    for by, wanted in (
        ({"rule": "of training", "scale": [0.5], "zero": [-3]}, "0.5 x (p - -3); of training"),
        ({"rule": "of training", "scale": [0.5, 0.25], "zero": [1, 2]}, "2 scales from 0.25 to 0.5; of training"),
    ):
        body = trial_of(record((make_trial(data_card=data_card(range=by)), make_steps(60))))
        assert re.search(r"a byte p stands for</dt><dd>.*?</dd>", body)[0].endswith(f"{wanted}</dd>")


def test_a_record_without_a_card_has_a_page(record):
    assert "Data card" not in trial_of(record((make_trial(), make_steps(60))))


def test_a_blocked_trial_alone_renders_without_figures(record):
    folder = record((blocked_trial("no probe & no <b>board</b>."), NO_STEPS))
    for page in (overview_of(folder), trial_of(folder)):
        assert "no board was reached" in page and "<figure" not in page and "plotly" not in page.lower()
        assert "no probe &amp; no &lt;b&gt;board&lt;/b&gt;." in page


def test_a_page_of_one_record_is_the_same_every_time(record):
    folder = record((make_trial(), make_steps(60)))
    assert render(folder).read_bytes() == render(folder).read_bytes()
    assert trial_of(folder) == trial_of(folder)


def own_parts(page):
    """A page without its scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_nothing_outside_the_folder_is_asked_for_and_the_library_is_there_once(record):
    folder = record((make_trial(), make_steps(60)), (make_trial(variant="cls2"), make_steps(60)))
    overview = render(folder)
    for path, script in (
        (overview, None),
        *((folder / f"stm32h7b3-{name}/index.html", "../plotly.js") for name in ("cls1", "cls2")),
    ):
        page = path.read_text(encoding="utf-8")
        assert re.search(r"Content-Security-Policy\" content=\"default-src 'none';", page)
        assert not re.search(r"https?://|@import|url\(|<link|src=", own_parts(page))
        assert re.findall(r'<script src="(.*?)">', page) == ([script] if script else [])
        assert len(page) < 120_000
    assert 1_000_000 < (folder / "plotly.js").stat().st_size < 2_500_000
    assert overview.stat().st_size < 50_000


def test_one_page_can_be_sent_and_asks_for_nothing(record):
    folder = record(
        (make_trial(**WHOLE), make_steps(60)), (make_trial(variant="cls2"), make_steps(60)), power=make_captures()
    )
    path = render_single(folder)
    page = path.read_text(encoding="utf-8")
    assert path.parent == folder and page.count("globalThis.packedPlotly = ") == 1
    assert not re.search(r"https?://|@import|url\(|<link|src=", own_parts(page))
    ids = re.findall(r'\bid="(.*?)"', own_parts(page))
    assert len(ids) == len(set(ids)), "every trial has ids of its own"
    leads = re.findall(r'href="(.*?)"', own_parts(page))
    assert leads and all(lead[0] == "#" and lead[1:] in ids for lead in leads)
    assert "27.800 ± 0.093" in page and page.count('class="trial"') == 2


def test_a_failure_in_an_early_step_is_drawn_for_both_sides():
    steps = make_steps(4)
    steps["match"][3] = False
    figure = go.Figure(loss_curve(steps, batch=8))
    assert names(figure) == ["board", "reference", "differs"]
    assert list(figure.data[2].x) == [3]
    assert figure.data[1].line.dash == "dash"


@pytest.mark.parametrize("column", ["loss_plus", "reference_loss_minus"])
def test_a_loss_that_differs_is_marked_and_not_smoothed_away(column):
    steps = make_steps(200)
    steps[column][120] += 1e-6
    figure = go.Figure(loss_curve(steps, batch=8))
    assert names(figure) == ["board", "reference", "differs"]
    assert list(figure.data[2].x) == [120]


def test_a_long_exact_run_is_smoothed_and_a_loss_is_divided_by_the_batch():
    steps = make_steps(200)
    figure = go.Figure(loss_curve(steps, batch=8))
    assert names(figure) == ["board = reference", "mean of 10 steps"]
    assert figure.data[0].y[0] == pytest.approx((steps["loss_plus"][0] + steps["loss_minus"][0]) / 16)
    assert figure.data[1].y[9] == pytest.approx(figure.data[0].y[:10].mean())


def test_two_losses_that_are_no_number_are_alike_and_one_is_not():
    steps = make_steps(4)
    steps["loss_plus"][2] = steps["reference_loss_plus"][2] = float("nan")
    assert "differs" not in names(loss_curve(steps, batch=8))
    steps["loss_plus"][3] = float("nan")
    assert "differs" in names(loss_curve(steps, batch=8))


def test_memory_bars_are_kib_and_leave_out_what_is_unknown():
    trial = make_trial()
    figure = go.Figure(memory_bars(trial))
    assert sum(bar.x[0] for bar in figure.data[:3]) == pytest.approx(trial.sram["total"] / 1024)
    unplanned = go.Figure(memory_bars(make_trial(sram=trial.sram | {"planned": None})))
    assert len(unplanned.data) == len(figure.data) - 1


def test_every_figure_of_the_energy_stands_on_the_page_with_its_word(record):
    page = trial_of(record((make_trial(**WHOLE), make_steps(60)), power=make_captures()))
    section = page[page.index('id="energy"') : page.index('id="paper"')]
    assert "27.800 ± 0.093 mJ a step" in section and "31.4" in section
    for said in (
        "55.60 ± 0.19 mJ",
        "88.000 ± 0.010 mJ",
        "115.5 mW",
        "313.1 mW",
        "281 ms",
        "current gain",
        "25.0 %",
        "currents are assumed.",
    ):
        assert said in section, said
    assert set(re.findall(r'class="tag (\w+)"', section)) == {"modelled", "declared"}, "declared: of the battery"
    assert 'class="warning">energy: only 5 readings a step.' in page


def test_the_power_trace_has_its_steps_marked_and_can_be_zoomed_by_keyboard(record):
    figure = go.Figure(power_trace(make_trace(), [0.14, 0.141]))
    assert names(figure) == ["idle before", "steps", "idle after"]
    assert [round(line.x0, 3) for line in figure.layout.shapes] == [0, 0.281, 0.14]
    assert {trace.line.shape for trace in figure.data} == {"hv"}, "a reading is a mean over its time, not an instant"
    assert {trace.line.shape for trace in go.Figure(power_trace(make_trace(aperture_s=0.0), [0.14, 0.141])).data} == {
        "linear"
    }
    page = trial_of(record((make_trial(**WHOLE), make_steps(60)), power=make_captures()))
    assert len(re.findall('<button type="button" [^>]*data-zoom=', page)) == 8


def test_the_arena_is_drawn_by_lifetime():
    figure = go.Figure(lifetimes(PLAN))  # plotly refuses a name that plotly.js does not know
    boxes = {
        trace.text.partition(":")[0]: (min(trace.x), max(trace.x), 1024 * min(trace.y), 1024 * max(trace.y))
        for trace in figure.data
    }
    assert boxes == {
        "blob": (-0.5, 3.5, 0, 200), "act[0]": (-0.5, 1.5, 200, 300), "err[0]": (1.5, 2.5, 200, 264), "noise": (2.5, 3.5, 200, 296),
    }  # fmt: skip


def test_every_buffer_of_a_plan_is_drawn():
    network = build("lenet5", 1)
    for partition in range(len(network.trained) + 1):
        made = plan(network, ElasticZoSettings(partition, loss="integer"), 8)
        drawn = {"slots": [], "buffers": [buffer._asdict() for buffer in made.buffers]}
        assert len(lifetimes(drawn)["data"]) == len(made.buffers)


def test_layers_schedule_and_accuracy_are_on_the_page(record):
    page = trial_of(record((make_trial(**WHOLE), make_steps(60))))
    assert "6,000,128" in page and "5,120" in page
    assert "from step 50 b_bp = 4" in page
    assert re.search(r"66.8 %</td><td class=\"n\">66.8 %</td><td class=\"n\">2.1 %</td>", page), (
        "with its binomial uncertainty"
    )


def test_what_the_paper_says_stands_beside_what_was_found(record):
    page = trial_of(record((make_trial(**WHOLE), make_steps(60))))
    section = page[page.index('id="paper"') :]
    assert "96,630" in section and "503,430 B" in section and "84.66 %" in section and "66.8 %" in section
    assert "82.6 %" in section and "94.8–97.1 %" in section


def test_integer_losses_make_no_curve_and_their_right_signs_are_counted(record):
    steps = make_steps(60)
    steps |= {f"reference_float_{side}": steps[f"loss_{side}"] for side in ("plus", "minus")}
    settings = {"loss": "integer", "scope": "sample", "r_max": 63}
    trial = make_trial(**WHOLE | {"settings": settings, "signs": {"right": 57, "of": 60, "asked": 60}})
    page = trial_of(record((trial, steps)))
    assert "95.0 ± 2.8 %</strong> of 60 steps" in page and "about 95 %" in page
    assert "float losses of the reference" in page
    assert names(loss_curve(steps, 8, integers=True)) == ["reference, in floats", "mean of 10 steps"]


def test_overview_and_trial_lead_to_each_other(record):
    folder = record((make_trial(**WHOLE), make_steps(60)), power=make_captures())
    assert 'href="stm32h7b3-cls1/index.html"' in overview_of(folder)
    assert 'href="../index.html"' in trial_of(folder)
    assert '27.800<span class="more"> ± 0.093</span> mJ' in overview_of(folder)
    assert re.search(r'<svg class="spark".*?aria-label="Loss a sample over 60 steps: from ', overview_of(folder))


def test_every_scrolling_table_can_be_reached_by_keyboard(record):
    page = trial_of(record((make_trial(**WHOLE), make_steps(60)), power=make_captures()))
    for region in re.findall(r'<div class="scroll"[^>]*>', page):
        assert 'tabindex="0"' in region and "aria-label=" in region
    assert len(re.findall(r"<figure [^>]*aria-label=", page)) == page.count("<figure") == 7


def test_of_a_method_with_queries_the_clean_loss_is_drawn():
    steps = make_steps(5)
    queries = make_trial(method="poor-mans-training", variant="adaptive", settings={"queries": 50})
    assert np.array_equal(loss_a_sample(drawn_losses(queries, steps), "board", 8), steps["loss_plus"] / 8)
    assert np.array_equal(
        loss_a_sample(drawn_losses(make_trial(), steps), "board", 8), loss_a_sample(steps, "board", 8)
    )
    wrong = steps | {"match": np.array([True, True, False, True, True])}
    assert list(differs(drawn_losses(queries, wrong))) == [False, False, True, False, False]
