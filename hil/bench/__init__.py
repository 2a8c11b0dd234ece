"""Benchmarks: counts and rates side by side in one run, never timed tests."""

from hil.bench.run import main

__all__ = ["main"]
