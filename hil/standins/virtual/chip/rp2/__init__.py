"""Peripherals that RP2040 and RP2350 share; a chip's subclasses have what differs."""
