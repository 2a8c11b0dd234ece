#pragma once

#include <stdint.h>

/* Frequencies in Hz as the clock tree stands. */
typedef struct {
    uint32_t core;
    uint32_t apb2;
} clock_rates_t;

/* Supply, voltage scale and PLL for 280 MHz. Where a ready flag does not come, the chip stays on HSI and the rates say
   so. */
clock_rates_t clock_start(void);
