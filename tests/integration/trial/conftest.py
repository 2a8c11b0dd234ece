"""One rig for the trials of this folder, as a session of pytest has it: a virtual board is started once for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hil.rig import Rig
from hil.rig_toml import Bench


@pytest.fixture(scope="session")
def virtual_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench(), tmp_path_factory.mktemp("rig"), reality="virtual") as rig:
        yield rig
