"""The first commands of docs/campaigns.md are run in their order, on a campaign of three steps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from docs_page import ROOT, Page, run

SHORT = "--steps 3 --evaluate 0"


@pytest.mark.tier("nightly")
def test_a_campaign_is_started_looked_at_stopped_and_resumed(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    shutil.copy(ROOT / "rig.toml", tmp_path)
    start, *others = [line.split("  #")[0] for line in Page.of("campaigns.md").block("hil campaign start").splitlines()]
    assert [command.split()[2] for command in others] == ["status", "stop", "resume"]
    said = [run(tmp_path, f"{start} {SHORT}"), *(run(tmp_path, command) for command in others)]
    assert all("pass" in each for each in said), said
