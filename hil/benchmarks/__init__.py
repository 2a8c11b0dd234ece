"""Benchmarks: counts and rates of rig, kernels, reference and energy intervals; never timed tests."""
