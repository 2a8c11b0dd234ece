"""The nRF52840 of an nRF52840 DK.

Source of registers and behaviour: Product Specification v1.7, checked against the SVD file in pyOCD.
"""
