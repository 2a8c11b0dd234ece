"""The logs of a trial's stages."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hil.training.trial.stages import StageLogs

LOG = logging.getLogger("hil.somewhere.below")


def test_each_stage_has_what_was_said_in_it_and_how_it_ended(tmp_path: Path) -> None:
    stages = StageLogs(tmp_path)
    LOG.info("before")
    with stages("flash"):
        LOG.info("erased %d sectors", 3)
        LOG.debug("too much")
    with pytest.raises(ValueError, match="late"), stages("train"):
        raise ValueError("too late")
    flash, train = ((tmp_path / "log" / f"{name}.log").read_text().splitlines() for name in ("flash", "train"))
    assert (
        len(flash) == 2 and flash[0].endswith("hil.somewhere.below: erased 3 sectors") and flash[1].endswith(" s; done")
    )
    assert train[-1].endswith("ValueError: too late") and "Traceback" in " ".join(train), (
        "nobody else will show where the defect is"
    )


def test_a_second_beginning_is_written_behind_the_first(tmp_path: Path) -> None:
    stages = StageLogs(tmp_path)
    for attempt in (1, 2):
        with stages("connect"):
            LOG.info("attempt %d", attempt)
    text = (tmp_path / "log" / "connect.log").read_text()
    assert text.index("attempt 1") < text.index("attempt 2") and text.count("done") == 2
    assert not logging.getLogger("hil").handlers


def test_a_disk_that_takes_no_log_ends_no_stage_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("in the way")
    stages = StageLogs(tmp_path)
    with stages("train"):
        LOG.info("lost")
    assert "log of stage train is incomplete" in stages.trouble
    assert not logging.getLogger("hil").handlers


def test_a_full_disk_is_noted_and_not_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this computer has no /dev/full")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "train.log").symlink_to("/dev/full")
    stages = StageLogs(tmp_path)
    with stages("train"):
        LOG.info("lost")
    assert "No space left on device" in stages.trouble
    assert "Logging error" not in capfd.readouterr().err
