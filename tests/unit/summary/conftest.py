from tests.unit.report.conftest import record  # noqa: F401  (a fixture)
