"""The profile of hypothesis that tests/conftest.py loads."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=1)
@given(st.none())
def test_an_example_may_take_longer_than_hypothesis_allows_by_default(_: None) -> None:
    time.sleep(0.3)  # the default deadline is 0.2 s
