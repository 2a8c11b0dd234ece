"""Peripherals that the STM32F746 and the STM32H7B3 share."""
