"""The RP2350 of a Raspberry Pi Pico 2, with its Cortex-M33 cores.

Sources:

- Registers, bits and reset values: the register headers that Raspberry Pi generates with the data sheet (pico-sdk,
  src/rp2350/hardware_regs). The values of the core's identification registers are those of the Cortex-M33 TRM.
- What the boot ROM does: its published source (pico-bootrom-rp2350, version A2), named at each place.
- Sections of the data sheet are cited from memory: `unverified`.
- The flash (w25q) is from memory: `unverified`.
"""
