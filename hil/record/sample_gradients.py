"""Maps of the gradients of one training sample, in the first and the last step of a trial (docs/fqt.md)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, with_config
from typing_extensions import TypedDict

from hil.record.field_types import CLOSED, Count, Items, Natural, NotNegative

MOST_ROWS, MOST_CELLS, MOST_LAYERS, MOST_STEPS = 64, 96, 3, 2
LEVELS = 255

Row = Annotated[str, Field(pattern=rf"^([0-9a-f]{{2}}){{0,{MOST_CELLS}}}$")]


@with_config(CLOSED)
class GradientMap(TypedDict):
    """The absolute gradient of the weights of a layer in one step.

    A row of cells is a string with two hexadecimal digits a cell: the largest value in its block, in units of
    `largest` / 255. A row is empty if the sample skipped all its channels.
    """

    largest: NotNegative
    kept: Annotated[Count | None, Field(description="channels that the sample kept; null if no setting skips any")]
    rows: Annotated[Items[Row], Field(max_length=MOST_ROWS)]


@with_config(CLOSED)
class LayerGradients(TypedDict):
    """The maps of a layer, one a step; a cell is a block of `down` output channels and `across` weights of each."""

    layer: str
    channels: Natural
    weights: Annotated[Natural, Field(description="of an output channel")]
    down: Natural
    across: Natural
    maps: Annotated[Items[GradientMap], Field(max_length=MOST_STEPS)]


@with_config(CLOSED)
class SampleGradients(TypedDict):
    """The gradients of the first sample of the first step, computed by the reference in the first and the last step.

    Without layers, `left_out` says why.
    """

    left_out: str
    steps: Annotated[Items[Count], Field(max_length=MOST_STEPS)]
    layers: Annotated[Items[LayerGradients], Field(max_length=MOST_LAYERS, description="the last three, input first")]
