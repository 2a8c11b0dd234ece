"""Make the history again from the folders of the runs."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

from hil.errors import RigError
from hil.history.address import Address
from hil.history.failures import REBUILD, Damaged, HistoryError, explained
from hil.history.folders import Count, index_run, run_folders
from hil.history.rescue import rescue_boards
from hil.history.send import send
from hil.history.store import Store, file_number, open_to_write, set_aside


def rebuild(address: Address, reports: Path) -> Count:
    """Index every run of a folder. What the history has of other runs stays, unless its file is damaged.

    Args:
        address: of the history; a damaged file is moved away first, with a sentence in the count's problems.
        reports: folder of the runs.

    Raises:
        HistoryError: the history cannot be written.
        RigError: the folder is not there.
    """
    if not reports.is_dir():
        raise RigError(f"{reports}: there is no such folder: name that of the runs with --reports.")
    count = Count()
    number = file_number(address)
    try:
        return _index_all(address, reports, count)
    except Damaged as damaged:
        if number is None:
            raise
        moved = set_aside(address, number)
        with open_to_write(address, []) as store:
            lost = rescue_boards(moved, store)
        count = Count(problems=[f"{str(damaged).partition(':')[0]}; it was moved to {moved}{lost}."])
        return _index_all(address, reports, count)


def _index_all(address: Address, reports: Path, count: Count) -> Count:
    with open_to_write(address, count.problems) as store:
        _check_pages(store)
        send(store, reports)  # so that these runs wait no more
        for folder in run_folders(reports):
            try:
                index_run(store, folder, count)
            except HistoryError:
                raise
            except RigError as error:
                count.problems.append(f"{folder.name} is not in the history: {error}")
    return count


def _check_pages(store: Store) -> None:
    """Read every page of a file, because damage may be where no run is written.

    Raises:
        Damaged: a page is damaged.
    """
    if not store.address.is_file:
        return
    with explained(store.address.shown), store.engine.connect() as connection:
        found = str(connection.execute(text("PRAGMA quick_check(1)")).scalar())
    if found != "ok":
        raise Damaged(f"{store.address.shown} is damaged ({' '.join(found.split())[:120]}): {REBUILD}.")
