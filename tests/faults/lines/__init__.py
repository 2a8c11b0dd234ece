"""Hostile serial lines, for tests: what may happen to bytes between host and board (`harm`), in simulated time or on a pseudo-terminal."""
