"""`hil compare`: two runs or trials beside each other, from their records only (docs/history.md)."""

from hil.report.compare.comparison import Comparison, Pair, compare
from hil.report.compare.page import write_page
from hil.report.compare.sides import Side, Taken, read_side
from hil.report.compare.texts import FORMATS

__all__ = ["FORMATS", "Comparison", "Pair", "Side", "Taken", "compare", "read_side", "write_page"]
