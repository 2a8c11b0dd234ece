"""The migrations, one file each: `NUMBER_what_it_changes.py`."""
