"""Fuzzers of both ends of the link: mutated replies to the rig, mutated requests to the agent's code under sanitizers."""
