"""All defects, in four tables."""

from .elasticzo import ELASTICZO_ROWS
from .graphs import GRAPH_ROWS
from .held_out import HELD_OUT_ROWS
from .measuring import MEASURING_ROWS

ROWS = (*MEASURING_ROWS, *ELASTICZO_ROWS, *GRAPH_ROWS, *HELD_OUT_ROWS)
