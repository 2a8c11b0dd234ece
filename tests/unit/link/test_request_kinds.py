"""A request that the link has not, or that has no reply, is refused before anything is sent."""

from __future__ import annotations

import pytest

from hil.errors import RigError
from hil.link.session import Session


class Closed:
    """A port that nothing may be sent to."""

    def write(self, data: bytes) -> None:
        raise AssertionError(f"{data!r} was sent")


@pytest.fixture
def session() -> Session:
    return Session(Closed(), 1)


def test_one_that_is_only_acknowledged_has_no_reply_to_wait_for(session: Session) -> None:
    with pytest.raises(RigError, match="does not reply to 'samples', it only acknowledges it .* send it with `stream`"):
        session.request("samples", slot=0, label=0, pixels=b"")


def test_an_unknown_one_is_named(session: Session) -> None:
    with pytest.raises(RigError, match="the link has no request 'sample': did you mean samples"):
        session.request("sample")
    with pytest.raises(RigError, match="the link has no request 'load_dat': did you mean load_data"):
        session.stream("load_dat", [{}])


def test_one_with_a_reply_is_no_stream(session: Session) -> None:
    with pytest.raises(RigError, match="'step' is no windowed request .* send it with `request`"):
        session.stream("step", [{"step": 0, "count": 1}])
