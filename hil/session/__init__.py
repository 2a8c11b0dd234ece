"""The rig's part in a pytest session: options, and the verdicts in record, JUnit, terminal and exit code."""
