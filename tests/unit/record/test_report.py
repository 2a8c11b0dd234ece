import re

from hil.report import render


def _page(recorded):
    page = render(recorded.folder).read_text()
    return page, page[page.index("</head>") :]


def test_the_page_needs_no_network(recorded):
    page, _ = _page(recorded)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)\s*=", page)


def test_verdicts_provenance_and_reality_are_said(recorded):
    _, body = _page(recorded)
    for word in ("pass", "fail", "blocked", "counted", "modelled", "analytic", "No silicon here", "virtual"):
        assert word in body


def test_a_difference_shows_step_layer_index_and_both_values(recorded):
    render(recorded.folder)
    failed = next(trial for trial in recorded.trials if trial.verdict == "fail")
    body = (recorded.folder / failed.folder / "index.html").read_text()
    facts = re.search(r'<dl class="facts difference">(.*?)</dl>', body, re.S)[1]
    assert re.findall(r"<dd>(.*?)</dd>", facts) == ["29", "conv2", "weight", "113", "12", "-12"]


def test_a_reason_cannot_write_markup(recorded):
    _, body = _page(recorded)
    assert "<script>alert" not in body
    assert "&lt;script&gt;alert" in body
