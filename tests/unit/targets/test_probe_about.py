"""What a probe says of itself, where pyOCD keeps it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hil.targets.probe_about import about


class Fake:
    """A probe of pyOCD; `link` is what it has opened."""

    vendor_name, product_name = "STMicroelectronics", "STLINK-V3"

    def __init__(self, link: object) -> None:
        self._link, self.calls = link, []

    def open(self) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")


class Refuses:
    """A link that does not know the request for its version."""

    @property
    def version_str(self) -> str:
        raise OSError("pipe error")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (SimpleNamespace(version_str="V3J7M3"), "STMicroelectronics STLINK-V3, firmware V3J7M3"),
        (SimpleNamespace(firmware_version="2.2.2"), "STMicroelectronics STLINK-V3, firmware 2.2.2"),
        (SimpleNamespace(firmware_version=None), "STMicroelectronics STLINK-V3, which does not say the version"),
        (Refuses(), "STMicroelectronics STLINK-V3, which does not say the version"),
        (None, "STMicroelectronics STLINK-V3, which does not say the version"),
    ],
)
def test_the_version_as_far_as_there_is_one(link: object, said: str) -> None:
    probe = Fake(link)
    assert str(about(probe)).startswith(said)
    assert probe.calls == ["open", "close"]


def test_pyocd_keeps_the_versions_there() -> None:
    from pyocd.probe.pydapaccess.dap_access_cmsis_dap import DAPAccessCMSISDAP
    from pyocd.probe.stlink.stlink import STLink

    assert isinstance(STLink.version_str, property)
    assert isinstance(DAPAccessCMSISDAP.firmware_version, property)
    jlink = pytest.importorskip("pylink").JLink  # pyOCD needs it
    assert isinstance(jlink.firmware_version, property)


def test_a_probe_that_does_not_open_is_left_closed() -> None:
    class Gone(Fake):
        def open(self) -> None:
            raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        about(Gone(None))
