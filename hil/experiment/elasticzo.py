"""The experiments of ElasticZO by name, each with the epochs that it trains unless others are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hil.experiment.studies import fixed_p_zero, logit_error, loss_fraction, r_max_search
from hil.experiment.table import Table
from hil.experiment.tables import PAPER_EPOCHS, Asked, table1, table2

ELASTIC_TABLES: Mapping[str, tuple[Callable[[Asked], Table], int]] = {
    "elasticzo-table1": (table1, PAPER_EPOCHS),
    "elasticzo-table2": (table2, PAPER_EPOCHS),
    "elasticzo-r-max": (r_max_search, 5),
    "elasticzo-logit-error": (logit_error, 20),
    "elasticzo-loss-fraction": (loss_fraction, 20),
    "elasticzo-p-zero": (fixed_p_zero, PAPER_EPOCHS),
}
