/* A 32-bit cycle counter made of the 24-bit SysTick and its interrupt, for cores without a DWT counter and for QEMU. */
#pragma once

#include <stdint.h>

void ticks_start(void);

/* Cycles since the start, modulo 2^32, without those that were slept through. */
uint32_t ticks_read(void);

void ticks_handler(void);
