"""The bench tests, which `pytest --board=NAME` runs in the checkout or from an installed wheel."""
