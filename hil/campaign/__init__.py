"""Trials of days that survive cuts: a folder with journal and checkpoints, from which a campaign goes on (docs/campaigns.md)."""
