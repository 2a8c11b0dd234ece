"""The i.MX RT1062 of a Teensy 4.0, 4.1 or MicroMod Teensy.

Sources:

- Registers, bits and reset values: NXP's SVD file (MIMXRT1062.xml, part of pyOCD; a test compares them).
- Table of routines of the boot ROM and layout of its headers: NXP's public driver (mcux-sdk, fsl_romapi).
- State after the boot ROM: a dump in the start-up code of a public kernel for the chip.

The reference manual (IMXRT1060RM) could not be read here: its sections are cited from memory and `unverified`, as is
every delay.
"""
