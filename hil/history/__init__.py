"""The history of all runs: a database that indexes their folders (docs/history.md).

The folders of the runs are the truth. Whatever the database loses, `hil history rebuild` makes again from them.
"""
