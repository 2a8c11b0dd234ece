#pragma once

#include <stdint.h>

/* Frequencies in Hz as the clock tree stands. */
typedef struct {
    uint32_t core;
    uint32_t apb2;
} clock_rates_t;

/* Over-drive and PLL for 216 MHz. Where a ready flag does not come, the chip stays on HSI and the rates say so. Called
   before any clock of a peripheral is enabled. */
clock_rates_t clock_start(void);
