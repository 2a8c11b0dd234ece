"""Where a setting has an effect: the conditions that methods.toml declares as `acts_with`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.errors import shown


@dataclass(frozen=True)
class Need:
    """What one setting needs another to be.

    Attributes:
        name: of the other setting, or of a fact of the method on its network (`[facts]` of methods.toml).
        words: of which the other has one; empty for a number.
        relation: of a number: `above` or `below`.
        bound: of a number, or the name of the setting that it is compared with.
    """

    name: str
    words: tuple[str, ...] = ()
    relation: str = ""
    bound: str = ""

    @classmethod
    def of(cls, name: str, condition: str | Sequence[str]) -> Need:
        """Return the need for a condition of methods.toml: a list of words, or "above 0", "below 1", "above NAME"."""
        if isinstance(condition, str):
            relation, bound = condition.split()
            return cls(name, relation=relation, bound=bound)
        return cls(name, tuple(condition))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether it holds with these settings and facts; numbers are compared in binary32, as on the board."""
        if self.name not in values:  # a fact of other methods
            return False
        if self.words:
            return values[self.name] in self.words
        own = np.float32(values[self.name])
        bound = np.float32(values[self.bound] if self.bound in values else float(self.bound))
        return bool(own > bound if self.relation == "above" else own < bound)

    def __str__(self) -> str:
        """Return it in words."""
        if self.words:
            return f"{self.name} = {' or '.join(map(shown, self.words))}"
        return f"{self.name} is {self.relation} {self.bound}"
