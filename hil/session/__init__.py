"""A session of pytest as the rig sees it: what became of every test that asked for a trial, in record, JUnit, terminal and exit code."""
