#include "board.h"

#include <stdbool.h>

#include "imxrt1062.h"

enum {
    CORE_MILLIVOLT = 1250, /* IMXRT1060CEC, operating ranges: VDD_SOC_IN at 600 MHz */
    PLL_ARM_DIV = 100,     /* 24 MHz x 100 / 2 = 1200 MHz (IMXRT1060RM, CCM_ANALOG_PLL_ARM: 54 to 108) */
    ARM_DIVIDER = 2,
    CORE_HZ = OSC_HZ / 2 * PLL_ARM_DIV / ARM_DIVIDER,
    IPG_DIVIDER =
        4, /* 150 MHz, its limit; PERCLK stays at half of it, 75 MHz, its own limit, as the boot ROM leaves it */
    SEMC_DIVIDER = 4, /* 150 MHz of 166 */
    READY_POLLS = 1000000,
};

/* Dividers and the multiplexer that may change while they are in use tell when they are done
   (IMXRT1060RM, CCM_CDHIPR). */
static void change(volatile uint32_t *reg, uint32_t mask, uint32_t value) {
    modify(reg, mask, value);
    (void)wait_until(&CCM_CDHIPR, 0xFFFFFFFFu, 0, READY_POLLS);
}

/* The core waits on the crystal while its PLL is set: after a reset by software it may be running from that PLL. Only
   PERIPH_CLK_SEL changes without a glitch, so what it does not select is set first (IMXRT1060RM, CCM: bus clock
   generation). The FlexSPI has its own root clock from PLL3, and the flash is read on all the while. */
static void run_from_crystal(void) {
    if ((CCM_CBCDR & CCM_CBCDR_PERIPH_CLK_SEL) == 0) {
        change(&CCM_CBCDR, CCM_CBCDR_PERIPH_CLK2_PODF_MASK, 0);
        change(&CCM_CBCMR, CCM_CBCMR_PERIPH_CLK2_SEL_MASK, CCM_CBCMR_PERIPH_CLK2_SEL_OSC);
        change(&CCM_CBCDR, CCM_CBCDR_PERIPH_CLK_SEL, CCM_CBCDR_PERIPH_CLK_SEL);
    }
}

static bool raise_voltage(void) {
    open_gates(&CCM_CCGR6, CCM_CCGR6_DCDC);
    modify(&DCDC_REG3, DCDC_REG3_TRG_MASK, DCDC_REG3_TRG((uint32_t)CORE_MILLIVOLT));
    return wait_until(&DCDC_REG0, DCDC_REG0_STS_DC_OK, DCDC_REG0_STS_DC_OK, READY_POLLS);
}

static bool start_pll(void) {
    modify(&PLL_ARM, PLL_ARM_DIV_MASK | PLL_ARM_POWERDOWN | PLL_ARM_ENABLE, PLL_ARM_POWERDOWN | PLL_ARM_BYPASS);
    modify(&PLL_ARM, PLL_ARM_DIV_MASK | PLL_ARM_POWERDOWN, (uint32_t)PLL_ARM_DIV | PLL_ARM_ENABLE);
    if (!wait_until(&PLL_ARM, PLL_ARM_LOCK, PLL_ARM_LOCK, READY_POLLS)) {
        return false;
    }
    modify(&PLL_ARM, PLL_ARM_BYPASS, 0);
    return true;
}

static void run_from_pll(void) {
    change(&CCM_CACRR, CCM_CACRR_ARM_PODF_MASK, ARM_DIVIDER - 1u);
    change(&CCM_CBCDR, CCM_CBCDR_AHB_PODF_MASK | CCM_CBCDR_IPG_PODF_MASK | CCM_CBCDR_SEMC_PODF_MASK,
           CCM_CBCDR_IPG_PODF((uint32_t)IPG_DIVIDER) | CCM_CBCDR_SEMC_PODF((uint32_t)SEMC_DIVIDER));
    change(&CCM_CBCMR, CCM_CBCMR_PRE_PERIPH_CLK_SEL_MASK, CCM_CBCMR_PRE_PERIPH_CLK_SEL_PLL1);
    change(&CCM_CBCDR, CCM_CBCDR_PERIPH_CLK_SEL, 0);
}

uint32_t clock_start(void) {
    /* Bias currents from the bandgap itself, once it has settled (IMXRT1060RM, PMU_MISC0: REFTOP_SELFBIASOFF). */
    MISC0_SET = MISC0_REFTOP_SELFBIASOFF;
    /* WFI stops the core only. As the register comes out of reset it would stop the chip's clocks too (IMXRT1060RM,
       CCM_CLPCR: LPM). */
    modify(&CCM_CLPCR, CCM_CLPCR_LPM_MASK, 0);
    /* The DMAs of the UART and of USB reach DTCM through the core's platform, whose clock must not stop when the core
       sleeps (IMXRT1060RM, GPR1). */
    open_gates(&CCM_CCGR4, CCM_CCGR4_IOMUXC_GPR);
    GPR1 |= GPR1_CM7_FORCE_HCLK_EN;
    modify(&CCM_CSCDR1, CCM_CSCDR1_UART_CLK_PODF_MASK, CCM_CSCDR1_UART_CLK_SEL_OSC);
    run_from_crystal();
    if (!raise_voltage() || !start_pll()) {
        return OSC_HZ;
    }
    run_from_pll();
    return CORE_HZ;
}
