"""The nRF52840 of an nRF52840 DK (Product Specification v1.7 for registers and behaviour, checked against the SVD that pyOCD carries)."""
