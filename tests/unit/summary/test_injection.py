"""Names, reasons and boards that are hostile to a format come out as plain text, or not at all, in every format.

Each format is read back by a reader of its own: a CommonMark parser, the runner's grammar of workflow commands, XML,
JSON.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import PurePosixPath

from hypothesis import given
from markdown_it import MarkdownIt

from hil.record import Run
from hil.summary import summary_of
from hil.summary.annotations import MOST, github_commands, gitlab_links
from hil.summary.badge import badge
from hil.summary.markdown import code, markdown
from hil.summary.text import text_lines
from hil.summary.webhook import payload
from hil.summary.words import one_line
from tests.unit.summary.runs import DRAWN, HOSTILE, hostile_runs, with_trials

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@DRAWN
@given(HOSTILE)
def test_one_line_is_printable_and_one_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and line == line.strip() and len(line) <= 400
    assert one_line(line) == line


@DRAWN
@given(HOSTILE)
def test_a_code_span_holds_its_text_alone(text: str) -> None:
    (paragraph,) = [token for token in RENDERER.parse(f"a {code(text)} b") if token.type == "inline"]
    assert [(token.type, token.content) for token in paragraph.children] == [
        ("text", "a "),
        ("code_inline", one_line(text) or " "),
        ("text", " b"),
    ]


@DRAWN
@given(hostile_runs())
def test_markdown_holds_hostile_text_only_in_code_spans(run: Run) -> None:
    summary = summary_of(run)
    tokens = RENDERER.parse(markdown(summary))
    assert {token.type for token in tokens if token.type.endswith(("block", "fence", "hr"))} == set()
    inline = [child for token in tokens if token.type == "inline" for child in token.children]
    assert {child.type for child in inline} <= {
        "text",
        "code_inline",
        "strong_open",
        "strong_close",
        "hardbreak",
        "softbreak",
    }
    assert not [child for child in inline if child.type == "softbreak"]
    spans = [child.content for child in inline if child.type == "code_inline"]
    for problem in summary.problems:
        for text in (problem.test, problem.reason, problem.board or "", problem.repeat):
            assert (one_line(text) or " ") in spans
    outside = " ".join(child.content for child in inline if child.type == "text")
    assert re.fullmatch(r"[\w\s.,:;()-]*", outside), outside
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings[0] == "trainrig" and set(headings[1:]) <= {
        "What is wrong",
        "Missing from the record",
        "Budgets missed",
        "Boards",
    }
    items = sum(token.type == "list_item_open" for token in tokens)
    assert items == len(summary.problems) + len(summary.missing) + len(summary.budgets) + len(summary.places)


def as_the_runner_reads(line: str) -> tuple[str, dict[str, str], str]:
    """Return name, properties and message of a workflow command, by the grammar that GitHub documents."""
    head, message = re.fullmatch(r"::(.*?)::(.*)", line, re.S).groups()
    name, _, rest = head.partition(" ")
    pairs = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
    for old, new in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        pairs = {key: value.replace(old, new) for key, value in pairs.items()}
        message = message.replace(old, new) if old not in ("%3A", "%2C") else message
    return name, pairs, message


@DRAWN
@given(hostile_runs())
def test_a_workflow_command_is_one_line_and_says_what_the_record_says(run: Run) -> None:
    summary = summary_of(run)
    lines = github_commands(summary, "sub")
    assert len(lines) == 1 + len(summary.problems) and all(line.isprintable() for line in lines)
    read = [as_the_runner_reads(line) for line in lines]
    assert read[0] == ("error", {"title": "trainrig"}, summary.sentence)
    wanted = sorted(
        (
            "warning" if problem.verdict == "blocked" else "error",
            one_line(PurePosixPath("sub", problem.file).as_posix()),
            one_line(f"{problem.test}: {problem.reason}"),
        )
        for problem in summary.problems
    )
    assert sorted((name, pairs["file"], message) for name, pairs, message in read[1:]) == wanted
    assert all(set(pairs) == {"file", "title"} for _, pairs, _ in read[1:])


def test_an_annotation_is_at_the_line_of_its_test_where_it_is_known() -> None:
    run = with_trials("fail", "fail")
    lines = github_commands(summary_of(run), lines={run.tests[1].test: 7})
    assert [as_the_runner_reads(line)[1].get("line") for line in lines] == [None, None, "7"]


def test_no_more_annotations_than_github_shows() -> None:
    for verdict, level in (("blocked", "::warning "), ("fail", "::error ")):
        lines = github_commands(summary_of(with_trials(*[verdict] * 30)))
        assert sum(line.startswith(level) for line in lines) == MOST
        assert f"{30 - (MOST - 2)} more tests" in lines[-1]


@DRAWN
@given(hostile_runs())
def test_the_text_is_ten_printable_lines(run: Run) -> None:
    lines = text_lines(summary_of(run))
    assert 0 < len(lines) <= 10 and all(line and line.isprintable() for line in lines)
    assert lines[0] == summary_of(run).sentence


@DRAWN
@given(hostile_runs())
def test_a_chat_is_sent_no_command_and_no_mark(run: Run) -> None:
    text = json.loads(json.dumps(payload(text_lines(summary_of(run)))))["text"]
    assert not re.search("[<>]|&(?!amp;|lt;|gt;)", text)
    head, block, end = text.split("```")
    assert "`" not in head + block and end == "" and head.strip() == summary_of(run).sentence


@DRAWN
@given(hostile_runs())
def test_the_badge_is_xml_and_the_link_json(run: Run) -> None:
    root = ET.fromstring(badge(summary_of(run)))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {"svg", "title", "rect", "g", "text"}
    found = json.loads(gitlab_links(summary_of(run), "https://ci.example/1?a=1&b=<2>"))
    assert found["trainrig"][0]["external_link"]["url"] == "https://ci.example/1?a=1&b=<2>"


def test_a_step_summary_of_a_bad_night_is_far_below_the_limit_of_github() -> None:
    run = with_trials(*["fail"] * 120)
    for test in run.tests:
        test.reason, test.repeat = "`<|" * 100_000, "\x1b" * 100_000
    assert len(markdown(summary_of(run)).encode()) < 200_000
