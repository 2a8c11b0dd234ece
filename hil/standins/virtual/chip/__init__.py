"""The emulated chips: core, memories and peripherals. An access to anything that the silicon does not have faults."""
