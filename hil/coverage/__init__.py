"""Line and branch coverage of firmware, from records: which code of an image its trials executed."""

from hil.coverage.read import BoardCoverage, Coverage, coverage_of, read_coverage
from hil.coverage.source_file import FileCoverage, Totals, merged

__all__ = ["BoardCoverage", "Coverage", "FileCoverage", "Totals", "coverage_of", "merged", "read_coverage"]
