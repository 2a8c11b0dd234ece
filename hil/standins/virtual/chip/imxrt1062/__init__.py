"""The i.MX RT1062 of a Teensy 4.0, 4.1 or MicroMod Teensy.

Registers, bits and reset values were read in NXP's SVD file (MIMXRT1062.xml, which pyOCD carries; a test compares them), the boot ROM's
table of routines and the layout of its headers in NXP's public driver (mcux-sdk, fsl_romapi), the state in which the ROM hands over in a
dump that a public kernel for the chip records beside its start-up code. The reference manual (IMXRT1060RM) could not be read here:
sections of it are cited from memory and `unverified`, as is every delay.
"""
