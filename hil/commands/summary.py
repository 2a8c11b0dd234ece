"""`hil summary`: a recorded run in brief, in the form that a forge, a mail, a chat or Allure takes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from hil.arguments import output_file, output_folder
from hil.errors import RigError
from hil.record import Run, read_run, write_atomic

FORMATS = ("text", "markdown", "json", "badge", "annotations", "gitlab", "allure")
RESULTS = Path("allure-results")  # Allure's own name for the folder


def main(arguments: list[str]) -> int:
    """Print the summary of a run, or write it to a file; return the exit code, which does not depend on the run."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.out is not None:
        try:
            options.out = (output_folder if options.format == "allure" else output_file)(options.out)
        except argparse.ArgumentTypeError as error:
            parser.error(f"argument --out: {error}")
    run = read_run(options.run)
    if options.webhook is not None:
        _send(run, options.webhook, options.link)
    if options.format == "allure":
        _write_allure(run, options.out or RESULTS)
        return 0
    text = _text(run, options.format, options.link)
    if options.out is None:
        sys.stdout.write(text)
    else:
        write_atomic(options.out, text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hil summary", description="Print a recorded run in brief.")
    text = "folder of the run (default: reports/latest)"
    parser.add_argument("run", type=Path, nargs="?", default=Path("reports/latest"), help=text)
    text = (
        "text: at most ten lines for a mail (default); markdown: step summary of a forge; badge: SVG; annotations: "
        "workflow commands of GitHub; gitlab: report `annotations` of a job, needs --link; allure: files for Allure"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help=text)
    text = "write to this file instead of standard output; of allure, the folder (default: allure-results)"
    parser.add_argument("--out", metavar="PATH", help=text)
    parser.add_argument("--link", default="", metavar="URL", help="address of the report, for text, gitlab and webhook")
    text = "also send the ten lines to the webhook of a chat; if that fails, warn and go on"
    parser.add_argument("--webhook", metavar="URL", help=text)
    return parser


def _text(run: Run, form: str, link: str) -> str:
    from hil.summary import annotations, summary_of
    from hil.summary.badge import badge
    from hil.summary.markdown import markdown
    from hil.summary.text import text_lines

    summary = summary_of(run)
    if form == "markdown":
        return markdown(summary)
    if form == "json":
        return json.dumps(asdict(summary), indent=1) + "\n"
    if form == "badge":
        return badge(summary)
    if form == "annotations":
        return _lines(annotations.github_commands(summary))
    if form == "gitlab":
        if not link:
            raise RigError("--format=gitlab is a link to the report: give its address with --link=URL.")
        return annotations.gitlab_links(summary, link)
    return _lines(text_lines(summary, link))


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _send(run: Run, url: str, link: str) -> None:
    from hil.summary import summary_of
    from hil.summary.text import text_lines
    from hil.summary.webhook import payload, post

    why = post(url, payload(text_lines(summary_of(run), link)))
    if why:
        print(f"hil: warning: {why}: the summary was not sent.", file=sys.stderr)


def _write_allure(run: Run, folder: Path) -> None:
    try:
        from hil.summary import allure
    except ImportError as error:
        if error.name is None or not error.name.startswith(("allure", "attr")):
            raise
        raise RigError("--format=allure needs the extra `allure`: pip install 'trainrig[allure]'.") from error
    print(f"{allure.write_results(run, folder)} results in {folder}")
