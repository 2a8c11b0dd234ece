"""The chip: core, memories and peripherals; it faults on whatever the silicon does not have."""
