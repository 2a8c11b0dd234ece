"""Defects put into the firmware, one at a time: what the rig says of each (docs/defects.md)."""
