"""All defects, in three tables."""

from .elasticzo import ELASTICZO_ROWS
from .graphs import GRAPH_ROWS
from .measuring import MEASURING_ROWS

ROWS = (*MEASURING_ROWS, *ELASTICZO_ROWS, *GRAPH_ROWS)
