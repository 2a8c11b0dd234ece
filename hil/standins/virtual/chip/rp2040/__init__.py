"""The RP2040 of a Raspberry Pi Pico.

Sources:

- Registers, bits and reset values: the register headers that Raspberry Pi generates with the data sheet (pico-sdk,
  src/rp2040/hardware_regs).
- Order of events at boot: the published source of the boot ROM.
- Sections of the data sheet are cited from memory and `unverified`, except 2.4.2.9 (reset control), 2.7.2.3 (flash
  second stage), 4.8 (watchdog) and 4.1.2.5.3 to 4.1.2.6.5 (USB device), which were read. Of "Concurrent access"
  (how long AVAILABLE must wait) only what TinyUSB's rp2040_usb.c says was read: a cycle of clk_usb is `unverified`.
- The flash (w25q) and the identification words of the debug components are from memory: `unverified`.
"""
