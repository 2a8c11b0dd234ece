#include <stdbool.h>

#include "board.h"
#include "stm32f746.h"

enum {
    HSI_HZ = 16000000,
    PLL_M = 25,  /* 25 MHz / 25 = 1 MHz into the phase detector */
    PLL_N = 432, /* 432 MHz: top of the VCO's range */
    PLL_P = 2,   /* 216 MHz */
    PLL_Q = 9,   /* 48 MHz, which nothing here uses; at most that (RM0385, RCC_PLLCFGR) */
    PLL_HZ = (int)BOARD_HSE_HZ / PLL_M * PLL_N / PLL_P,
    APB2_DIVIDER =
        2, /* 108 MHz, and APB1 54 MHz by 4: the highest with over-drive (DS10916, general operating conditions) */
    FLASH_WAIT_STATES = 7, /* RM0385, FLASH: number of wait states, 2.7 to 3.6 V, 210 to 216 MHz */
    READY_POLLS = 1000000, /* hundreds of milliseconds at 16 MHz, where the slowest flag, of the crystal, needs a few */
};

static bool start_crystal(void) {
    RCC_CR |= RCC_CR_HSEON;
    return wait_until(&RCC_CR, RCC_CR_HSERDY, RCC_CR_HSERDY, READY_POLLS);
}

/* The voltage scale can be chosen only while the PLL is off (RM0385, PWR_CR1); scale 1 is the fastest. The PLL locks
   while the regulator goes to over-drive. */
static void start_pll(void) {
    modify(&PWR_CR1, PWR_CR1_VOS_MASK, PWR_CR1_VOS_SCALE_1);
    modify(&RCC_PLLCFGR,
           RCC_PLLCFGR_M_MASK | RCC_PLLCFGR_N_MASK | RCC_PLLCFGR_P_MASK | RCC_PLLCFGR_SRC_HSE | RCC_PLLCFGR_Q_MASK,
           RCC_PLLCFGR_M((uint32_t)PLL_M) | RCC_PLLCFGR_N((uint32_t)PLL_N) | RCC_PLLCFGR_P((uint32_t)PLL_P) |
               RCC_PLLCFGR_SRC_HSE | RCC_PLLCFGR_Q((uint32_t)PLL_Q));
    RCC_CR |= RCC_CR_PLLON;
}

/* RM0385, PWR: entering over-drive mode. The system clock is still HSI and no peripheral but PWR has a clock, as it
   asks. */
static bool enter_over_drive(void) {
    PWR_CR1 |= PWR_CR1_ODEN;
    if (!wait_until(&PWR_CSR1, PWR_CSR1_ODRDY, PWR_CSR1_ODRDY, READY_POLLS)) {
        return false;
    }
    PWR_CR1 |= PWR_CR1_ODSWEN;
    return wait_until(&PWR_CSR1, PWR_CSR1_ODSWRDY, PWR_CSR1_ODSWRDY, READY_POLLS);
}

/* Flash and buses first, so that nothing is ever faster than it may be (RM0385, FLASH: increasing the
   CPU frequency). */
static bool switch_to_pll(void) {
    modify(&FLASH_ACR, FLASH_ACR_LATENCY_MASK, FLASH_WAIT_STATES);
    if (!wait_until(&FLASH_ACR, FLASH_ACR_LATENCY_MASK, FLASH_WAIT_STATES, READY_POLLS)) {
        return false;
    }
    modify(&RCC_CFGR, RCC_CFGR_HPRE_MASK | RCC_CFGR_PPRE1_MASK | RCC_CFGR_PPRE2_MASK,
           RCC_CFGR_PPRE1_4 | RCC_CFGR_PPRE2_2);
    if (!wait_until(&RCC_CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY, READY_POLLS)) {
        return false;
    }
    modify(&RCC_CFGR, RCC_CFGR_SW_MASK, RCC_CFGR_SW_PLL);
    return wait_until(&RCC_CFGR, RCC_CFGR_SWS_MASK, RCC_CFGR_SWS_PLL, READY_POLLS);
}

clock_rates_t clock_start(void) {
    RCC_APB1ENR |= RCC_APB1ENR_PWREN;
    (void)RCC_APB1ENR; /* two cycles until the clock runs (RM0385, RCC: peripheral clock enable) */
    bool fast = start_crystal();
    if (fast) {
        start_pll();
        fast = enter_over_drive() && switch_to_pll();
    }
    const uint32_t core = fast ? (uint32_t)PLL_HZ : (uint32_t)HSI_HZ;
    const bool divided = (RCC_CFGR & RCC_CFGR_PPRE2_MASK) == RCC_CFGR_PPRE2_2;
    return (clock_rates_t){.core = core, .apb2 = divided ? core / APB2_DIVIDER : core};
}
