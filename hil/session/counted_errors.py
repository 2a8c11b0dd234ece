"""Which errors decide about a test when they end something beside it: a thread, a future, a task."""

from __future__ import annotations

from hil.errors import RigError

COUNTED = (RigError, AssertionError)  # of the rig's calls, and of what the test asserts of their results
