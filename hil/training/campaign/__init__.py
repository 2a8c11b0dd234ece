"""Trials of several days that survive interruptions, by a journal and checkpoints in a folder (docs/trials.md)."""
