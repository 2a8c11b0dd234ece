"""`python -m tests.faults.defects --drawn N`: draw changes, build them, and run the tests of the board."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

from hil.errors import RigError
from tests.faults.campaign.record import commit

from . import drawn_record, reach
from .candidates import Change
from .drawn import Runner, Source
from .drawn_record import CAUGHT, LEAST_CAUGHT, NOT_REACHED, PASS, Campaign, Drawn
from .quick_tier import QuickTier
from .reach import Ran, Reach


def run(options: argparse.Namespace) -> int:
    """Print a line a row; exit code 1 where fewer are caught than is asked for, or an argument is disproved."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        campaign = _campaign(options)
        source = Source(options.board, options.seed, folder)
        campaign.changes, campaign.families = len(source.changes), dict(source.families)
        with _processes(options, folder, source.image) as processes:
            ran = Reach(source.compiled, _tested(options.reach, source.image, processes[0]))
            runners = [Runner(process, ran) for process in processes]
            for row in chain(_rows(campaign, source, runners, options), _late_rows(campaign, source, folder, options)):
                print(_line(row), flush=True)
                if options.json is not None:
                    drawn_record.write(options.json, campaign)
    print(_summary(campaign))
    wrong = campaign.disproved or any(control.failed for control in campaign.controls)
    return int(bool(wrong) or campaign.share < LEAST_CAUGHT)


def _campaign(options: argparse.Namespace) -> Campaign:
    """Return the campaign to go on with, or a new one."""
    found = None
    if options.resume:
        if options.json is None:
            raise RigError("--resume reads the rows that are done from --json FILE: name the file.")
        found = drawn_record.read(options.json, options.board, options.seed)
    of = commit()
    if found is not None and found.commit != of:
        raise RigError(
            f"{options.json} has rows of commit {found.commit or 'unknown'}, this is {of or 'changed'}: begin anew."
        )
    return found or Campaign(options.board, options.seed, of)


@contextmanager
def _processes(options: argparse.Namespace, folder: Path, image: Path) -> Iterator[list[QuickTier]]:
    """Yield a process of tests for each job."""
    processes = []
    for number in range(options.jobs):
        place = folder / f"tests-{number}"
        place.mkdir()
        processes.append(QuickTier(options.board, place, image))
    try:
        yield processes
    finally:
        for process in processes:
            process.stop()


def _tested(file: Path | None, image: Path, process: QuickTier) -> dict[str, Ran]:
    """Return what each test runs of the unchanged image, from a file if it has that of this image and these tests.

    Raises:
        RigError: a test does not pass.
    """
    digest = reach.digest(image)
    process.start()
    known = json.loads(file.read_text()) if file is not None and file.exists() else {}
    if known.get("image") == digest and set(known["all"]) == set(process.tests):
        return reach.from_json(known["tests"])
    tests: dict[str, Ran] = {}
    for ended in process.run(image, process.tests, keep=True):
        ended = process.again(image, ended, 2)
        if ended.verdict == "skipped":
            continue
        if ended.verdict != "pass":
            raise RigError(f"{ended.test} does not pass with the unchanged firmware ({ended.said}): mend that first.")
        tests[ended.test] = reach.tested(image, ended)
        print(f"unchanged {ended.seconds:6.1f} s  {ended.test}", flush=True)
    if file is not None:
        file.write_text(json.dumps({"image": digest, "all": list(process.tests), "tests": reach.to_json(tests)}))
    return tests


def _rows(campaign: Campaign, source: Source, runners: list[Runner], options: argparse.Namespace) -> Iterator[Drawn]:
    """Yield rows as they end; the campaign has them in the order of the draw."""
    free = threading.Semaphore(2 * len(runners))  # images are not built long before they are needed
    idle, lock = list(runners), threading.Lock()
    order: dict[str, int] = {}

    def work(change: Change, image: Path, controlled: bool) -> tuple[Drawn, drawn_record.Control | None]:
        with lock:
            runner = idle.pop()
        try:
            return runner.row(change, image), runner.control(change, image) if controlled else None
        finally:
            image.unlink(missing_ok=True)
            with lock:
                idle.append(runner)
            free.release()

    done = {row.name for row in campaign.rows}
    with ThreadPoolExecutor(len(runners)) as pool:
        futures: list[Future[tuple[Drawn, drawn_record.Control | None]]] = []
        for number, (change, image) in enumerate(source.valid(campaign)):
            order[change.name] = number
            if change.name not in done:
                free.acquire()
                futures.append(pool.submit(work, change, image, number < options.controls))
            yield from _ended(campaign, futures, order)
            if number + 1 == options.drawn:
                break
        while futures:
            futures[0].exception()  # waits
            yield from _ended(campaign, futures, order)


def _ended(
    campaign: Campaign, futures: list[Future[tuple[Drawn, drawn_record.Control | None]]], order: dict[str, int]
) -> Iterator[Drawn]:
    """Take what has ended into the campaign, and yield its rows."""
    for future in [future for future in futures if future.done()]:
        futures.remove(future)
        row, control = future.result()
        campaign.rows.append(row)
        campaign.rows.sort(key=lambda each: order.get(each.name, -1))
        campaign.controls += [control] if control is not None else []
        yield row


def _late_rows(campaign: Campaign, source: Source, folder: Path, options: argparse.Namespace) -> Iterator[Drawn]:
    """Run tests of the nightly tier for what the quick tier did not catch; yield the rows that they change."""
    if options.late is None:
        return
    place = folder / "late"
    place.mkdir()
    process = QuickTier(options.board, place, source.image, "nightly")
    process.start()
    names = [name for name in process.tests if re.search(options.late, name)]
    changes = {change.name: change for change in source.changes}
    try:
        for number, row in enumerate(campaign.rows):
            if row.verdict not in (PASS, NOT_REACHED) or campaign.argument(row):
                continue
            image = place / f"{number:04}.elf"
            source.build(changes[row.name], image)
            for ended in process.run(image, names):
                print(f"    {ended.verdict} {ended.seconds:.1f} s {ended.test}", flush=True)
                if ended.verdict == CAUGHT:
                    found = {"tier": "nightly", "trial": ended.test, "names": ended.names, "said": ended.said}
                    campaign.rows[number] = replace(row, verdict=CAUGHT, **found)
                    yield campaign.rows[number]
                    break
            image.unlink()
    finally:
        process.stop()


def _line(row: Drawn) -> str:
    mark = "caught" if row.verdict == CAUGHT else row.verdict.upper()
    told = (
        f"by {row.trial}: {row.said}" if row.trial else f"{row.ran} tests of {row.of}, reach: {row.reach}. {row.said}"
    )
    return f"{mark:11} {row.seconds:6.1f} s  {row.kind} in {row.family}: {row.place}: {row.name}\n    {told}"


def _summary(campaign: Campaign) -> str:
    counts = campaign.counts
    parts = [
        f"\n{counts[CAUGHT]} of {len(campaign.rows)} caught, {counts['equivalent']} equivalent: {100 * campaign.share:.1f} % of the others",
        ", ".join(f"{count} {what}" for what, count in counts.items()),
        ", ".join(f"{len(names)} discarded ({why})" for why, names in campaign.discarded.items()),
    ]
    parts += [f"argued to be equivalent, and caught: {name}" for name in campaign.disproved]
    parts += [f"not selected, and did not pass: {control}" for control in campaign.controls if control.failed]
    return "\n".join(parts)
