"""The peripherals of the STM32H7B3."""
