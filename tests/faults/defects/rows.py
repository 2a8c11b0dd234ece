"""All defects: a table a part."""

from .elasticzo import ELASTICZO_ROWS
from .elasticzo_fp32 import ELASTICZO_FP32_ROWS
from .fqt import FQT_ROWS
from .graphs import GRAPH_ROWS
from .held_out import HELD_OUT_ROWS
from .measuring import MEASURING_ROWS
from .qzo_ff import QZO_FF_ROWS
from .tinytrain import TINYTRAIN_ROWS

ROWS = (
    *MEASURING_ROWS,
    *ELASTICZO_ROWS,
    *GRAPH_ROWS,
    *FQT_ROWS,
    *TINYTRAIN_ROWS,
    *QZO_FF_ROWS,
    *ELASTICZO_FP32_ROWS,
    *HELD_OUT_ROWS,
)
