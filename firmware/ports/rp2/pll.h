/* The PLL of the system, and that of USB. */
#pragma once

#include <stdint.h>

#include "board.h"

/* A PLL from the crystal, undivided. The sequence of 2.18.2.1 of the RP2040 data sheet.

   reset: its bit in RESETS; dividers: what PRIM is to have. */
static inline void pll_start(uint32_t pll, uint32_t reset, uint32_t feedback, uint32_t dividers) {
    ATOMIC_SET(RESETS_RESET) = reset;
    ATOMIC_CLEAR(RESETS_RESET) = reset;
    while ((RESETS_DONE & reset) == 0) {
    }
    PLL_CS(pll) = 1;
    PLL_FBDIV(pll) = feedback;
    ATOMIC_CLEAR(PLL_PWR(pll)) = PLL_PWR_PD | PLL_PWR_VCOPD;
    while ((PLL_CS(pll) & PLL_CS_LOCK) == 0) {
    }
    PLL_PRIM(pll) = dividers;
    ATOMIC_CLEAR(PLL_PWR(pll)) = PLL_PWR_POSTDIVPD;
}
