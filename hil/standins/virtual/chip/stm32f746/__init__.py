"""The STM32F746. Sources: RM0385 (reference manual), DS10916 (data sheet).

RCC, PWR, FLASH, routing of DMA requests and identification registers are specific to this chip. GPIO ports, DMA and
USART are shared with STM32H7B3 (`stm32/`).
"""
