"""STM32F746: what differs from STM32H7B3 and is not of the core. Sources: RM0385 (reference manual), DS10916 (data sheet).

The peripherals that both chips have are shared: GPIO ports, and the line, registers and interrupt of the USART. RCC, PWR, FLASH, DMA
and the identification registers are of this chip alone.
"""
