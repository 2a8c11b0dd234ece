import re

import pandas as pd
import pytest

from hil.report import render
from hil.report.figures import loss_curve, memory_bars

from .conftest import blocked_trial, make_steps, make_trial

NO_STEPS = pd.DataFrame([])


def body_of(folder):
    page = render(folder).read_text(encoding="utf-8")
    return page[page.index("</head>") :].replace("\N{NO-BREAK SPACE}", " ")


def names(figure):
    return [trace.name for trace in figure.data]


def test_a_virtual_run_never_says_measured_of_the_board(record):
    body = body_of(record((make_trial(), make_steps(200))))
    assert "No silicon here" in body
    tags = re.findall(r'([^<>]*)<span class="tag">measured</span>', body)
    assert tags and all("host's clock" in before for before in tags)


def test_a_run_on_silicon_has_no_disclaimer_and_its_cycles_are_measured(record):
    body = body_of(record((make_trial(reality="hardware", cycles_provenance="measured"), make_steps(200))))
    assert "No silicon here" not in body and "Not all of this is silicon" not in body
    assert re.search(r'39,484,869<br><span class="tag">measured</span>', body)


def test_one_stand_in_among_boards_is_still_announced(record):
    silicon = make_trial(reality="hardware", cycles_provenance="measured")
    body = body_of(record((silicon, make_steps(60)), (make_trial(reality="qemu"), make_steps(60))))
    assert re.search(r'class="claim"><strong>Not all of this is silicon.</strong>[^<]*: qemu\.', body)


def test_time_from_counted_cycles_is_modelled(record):
    body = body_of(record((make_trial(cycles_provenance="counted"), make_steps(60))))
    row = re.search(r"time a step.*?</tr>", body, re.S)[0]
    assert '<span class="tag">modelled</span>' in row and "counted" not in row


def test_the_verdict_table_has_budget_reference_and_reason(record):
    reason = "SRAM in use is 300,000 bytes, the budget of stm32h7b3 is 262,144."
    body = body_of(record((make_trial(verdict="fail", reason=reason), make_steps(60))))
    table = re.search(r'aria-label="Verdict table">.*?</table>', body, re.S)[0]
    assert "of 262,144 B" in table and "reference 66.8 %" in table and reason in table


def test_settings_and_all_digests_are_on_the_page(record):
    trial = make_trial()
    body = body_of(record((trial, make_steps(60))))
    wanted = [trial.image_sha256, trial.network_sha256, trial.data_sha256, trial.final_digest, *trial.digests]
    assert all(digest in body for digest in wanted)
    assert "<dt>r_max</dt><dd>7</dd>" in body
    assert re.search(r"2,186,681 B <span class=\"tag\">counted</span>", body)


def test_a_blocked_trial_alone_renders_without_figures(record):
    body = body_of(record((blocked_trial("no probe & no <b>board</b>."), NO_STEPS)))
    assert "no board was reached" in body and "<figure" not in body
    assert "no probe &amp; no &lt;b&gt;board&lt;/b&gt;." in body


def test_a_page_of_one_record_is_the_same_every_time(record):
    folder = record((make_trial(), make_steps(60)))
    assert render(folder).read_bytes() == render(folder).read_bytes()


def test_nothing_outside_the_page_is_asked_for(record):
    page = render(record((make_trial(), make_steps(60)))).read_text(encoding="utf-8")
    assert re.search(r"Content-Security-Policy\" content=\"default-src 'none';", page)
    own = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"https?://|@import|url\(|<link|src=", own)
    assert page.count("plotly.js v") == 1


def test_a_failure_in_an_early_step_is_drawn_for_both_sides():
    steps = make_steps(4)
    steps.loc[3, "match"] = False
    figure = loss_curve(steps, batch=8)
    assert names(figure) == ["board", "reference", "differs"]
    assert list(figure.data[2].x) == [3]
    assert figure.data[1].line.dash == "dash"


@pytest.mark.parametrize("column", ["loss_plus", "reference_loss_minus"])
def test_a_loss_that_differs_is_marked_and_not_smoothed_away(column):
    steps = make_steps(200)
    steps.loc[120, column] += 1e-6
    figure = loss_curve(steps, batch=8)
    assert names(figure) == ["board", "reference", "differs"]
    assert list(figure.data[2].x) == [120]


def test_a_long_exact_run_is_smoothed_and_a_loss_is_divided_by_the_batch():
    steps = make_steps(200)
    figure = loss_curve(steps, batch=8)
    assert "differs" not in names(figure) and len(figure.data) == 3
    assert figure.data[0].y[0] == pytest.approx((steps["loss_plus"][0] + steps["loss_minus"][0]) / 16)
    assert list(figure.data[1].y[9:]) == list(figure.data[2].y[9:])


def test_two_losses_that_are_no_number_are_alike_and_one_is_not():
    steps = make_steps(4)
    steps.loc[2, ["loss_plus", "reference_loss_plus"]] = float("nan")
    assert "differs" not in names(loss_curve(steps, batch=8))
    steps.loc[3, "loss_plus"] = float("nan")
    assert "differs" in names(loss_curve(steps, batch=8))


def test_memory_bars_are_kib_and_leave_out_what_is_unknown():
    trial = make_trial()
    figure = memory_bars(trial)
    assert sum(bar.x[0] for bar in figure.data[:3]) == pytest.approx(trial.sram["total"] / 1024)
    unplanned = memory_bars(make_trial(sram=trial.sram | {"planned": None}))
    assert len(unplanned.data) == len(figure.data) - 1
