"""`hil compare`: two runs or trials beside each other, from their records only (docs/history.md)."""

from hil.report.compare.comparison import ComparedSides, Pair, compare
from hil.report.compare.page import write_page
from hil.report.compare.sides import ComparedResult, Side, read_side
from hil.report.compare.texts import FORMATS

__all__ = ["FORMATS", "ComparedResult", "ComparedSides", "Pair", "Side", "compare", "read_side", "write_page"]
