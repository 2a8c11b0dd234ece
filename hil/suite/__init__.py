"""The bench tests: the product itself. `pytest --board=NAME` runs them, in the checkout or from an installed wheel."""
