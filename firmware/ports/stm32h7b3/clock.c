#include "board.h"

#include <stdbool.h>

#include "stm32h7b3.h"

enum {
    HSI_HZ = 64000000,
    PLL_M = 3,  /* 24 MHz / 3 = 8 MHz into the phase detector */
    PLL_N = 70, /* 560 MHz: top of the wide VCO range */
    PLL_P = 2,  /* 280 MHz */
    PLL_HZ = (int)BOARD_HSE_HZ / PLL_M * PLL_N / PLL_P,
    APB_DIVIDER = 2,       /* APB1..4 end at 140 MHz, CPU and AHB at 280 MHz (DS13139, general operating conditions) */
    FLASH_WAIT_STATES = 6, /* RM0455, FLASH: recommended number of wait states, VOS0 up to 280 MHz */
    FLASH_WRITE_DELAY = 3, /* the same table, WRHIGHFREQ */
};

static bool start_crystal(void) {
    RCC_CR |= RCC_CR_HSEON;
    return wait_until(&RCC_CR, RCC_CR_HSERDY, RCC_CR_HSERDY, BOARD_READY_POLLS);
}

static bool set_voltage_scale(uint32_t vos) {
    modify(&PWR_SRDCR, PWR_SRDCR_VOS_MASK, vos);
    return wait_until(&PWR_SRDCR, PWR_SRDCR_VOSRDY, PWR_SRDCR_VOSRDY, BOARD_READY_POLLS);
}

static bool start_pll(void) {
    modify(&RCC_PLLCKSELR, RCC_PLLCKSELR_PLLSRC_MASK | RCC_PLLCKSELR_DIVM1_MASK,
           RCC_PLLCKSELR_PLLSRC_HSE | RCC_PLLCKSELR_DIVM1((uint32_t)PLL_M));
    modify(&RCC_PLLCFGR,
           RCC_PLLCFGR_PLL1FRACEN | RCC_PLLCFGR_PLL1VCOSEL | RCC_PLLCFGR_PLL1RGE_MASK | RCC_PLLCFGR_DIVP1EN,
           RCC_PLLCFGR_PLL1RGE_8_16_MHZ | RCC_PLLCFGR_DIVP1EN);
    modify(&RCC_PLL1DIVR, RCC_PLL1DIVR_N1_MASK | RCC_PLL1DIVR_P1_MASK,
           RCC_PLL1DIVR_N1((uint32_t)PLL_N) | RCC_PLL1DIVR_P1((uint32_t)PLL_P));
    RCC_CR |= RCC_CR_PLL1ON;
    return wait_until(&RCC_CR, RCC_CR_PLL1RDY, RCC_CR_PLL1RDY, BOARD_READY_POLLS);
}

/* Buses and flash first, so that nothing is ever faster than it may be. */
static bool switch_to_pll(void) {
    modify(&RCC_CDCFGR1, RCC_CDCFGR1_CDCPRE_MASK | RCC_CDCFGR1_HPRE_MASK | RCC_CDCFGR1_CDPPRE_MASK,
           RCC_CDCFGR1_CDPPRE_2);
    modify(&RCC_CDCFGR2, RCC_CDCFGR2_CDPPRE1_MASK | RCC_CDCFGR2_CDPPRE2_MASK,
           RCC_CDCFGR2_CDPPRE1_2 | RCC_CDCFGR2_CDPPRE2_2);
    modify(&RCC_SRDCFGR, RCC_SRDCFGR_SRDPPRE_MASK, RCC_SRDCFGR_SRDPPRE_2);
    const uint32_t acr = (uint32_t)FLASH_WAIT_STATES | (uint32_t)FLASH_WRITE_DELAY << 4;
    modify(&FLASH_ACR, FLASH_ACR_LATENCY_MASK | FLASH_ACR_WRHIGHFREQ_MASK, acr);
    if (!wait_until(&FLASH_ACR, FLASH_ACR_LATENCY_MASK | FLASH_ACR_WRHIGHFREQ_MASK, acr, BOARD_READY_POLLS)) {
        return false;
    }
    modify(&RCC_CFGR, RCC_CFGR_SW_MASK, RCC_CFGR_SW_PLL1);
    return wait_until(&RCC_CFGR, RCC_CFGR_SWS_MASK, RCC_CFGR_SWS_PLL1, BOARD_READY_POLLS);
}

clock_rates_t clock_start(void) {
    /* VOS0 can only be reached from VOS1 (RM0455, PWR: dynamic voltage scaling). */
    const bool powered =
        (PWR_CSR1 & PWR_CSR1_ACTVOSRDY) != 0 && set_voltage_scale(PWR_SRDCR_VOS1) && set_voltage_scale(PWR_SRDCR_VOS0);
    const bool fast = powered && start_crystal() && start_pll() && switch_to_pll();
    const uint32_t core = fast ? (uint32_t)PLL_HZ : (uint32_t)HSI_HZ;
    const bool divided = (RCC_CDCFGR2 & RCC_CDCFGR2_CDPPRE2_MASK) == RCC_CDCFGR2_CDPPRE2_2;
    return (clock_rates_t){.core = core, .apb2 = divided ? core / APB_DIVIDER : core};
}
