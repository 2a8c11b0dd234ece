/* Sections of the RP2040 data sheet; that of RP2350 says the same in its chapters on clocks, the crystal oscillator and
   the PLL. */
#include "board.h"
#include "pll.h"

/* The oscillator between runs at 1500 of the 750 to 1600 MHz that it may (2.18.2). */
enum { FEEDBACK = 125, POST_1 = BOARD_PLL_POST_1, POST_2 = BOARD_PLL_POST_2 };
_Static_assert(BOARD_CRYSTAL_HZ / 1000000u * FEEDBACK / POST_1 / POST_2 == CLOCK_HZ / 1000000u,
               "the PLL gives CLOCK_HZ");

enum { STARTUP_DELAY = 47 }; /* times 256 cycles of the crystal: 1 ms (2.16.3) */

static void start_crystal(void) {
    XOSC_STARTUP = STARTUP_DELAY;
    XOSC_CTRL = XOSC_ENABLE | XOSC_1_TO_15_MHZ;
    while ((XOSC_STATUS & XOSC_STABLE) == 0) {
    }
}

/* A debugger's reset resets the processor core only (2.4.2.9) and leaves the clocks as an earlier program had
   them: off the PLL before it is touched, by the multiplexer without glitches before the other one (2.15.3.2), and
   undivided. clk_peri is stopped long before its source changes. */
static void run_from_crystal(void) {
    ATOMIC_CLEAR(CLK_PERI_CTRL) = CLK_PERI_ENABLE;
    ATOMIC_CLEAR(CLK_SYS_CTRL) = CLK_SYS_FROM_PLL;
    while (CLK_SYS_SELECTED != 1u << CLK_SYS_FROM_REF) {
    }
    REGISTER(CLK_SYS_CTRL) = CLK_SYS_FROM_REF;
    CLK_REF_CTRL = CLK_REF_XOSC;
    while (CLK_REF_SELECTED != 1u << CLK_REF_XOSC) {
    }
    CLK_REF_DIV = CLK_UNDIVIDED;
    CLK_SYS_DIV = CLK_UNDIVIDED;
}

void clock_start(void) {
    ATOMIC_CLEAR(WATCHDOG_CTRL) = WATCHDOG_ENABLE; /* an earlier program's */
    start_crystal();
    run_from_crystal();
    pll_start(PLL_SYS, RESETS_PLL_SYS, FEEDBACK, POST_1 << 16 | POST_2 << 12);
    REGISTER(CLK_SYS_CTRL) = CLK_SYS_FROM_PLL;
    while (CLK_SYS_SELECTED != 1u << CLK_SYS_FROM_PLL) {
    }
    REGISTER(CLK_PERI_CTRL) = CLK_PERI_ENABLE; /* from clk_sys */
    tick_start();
}
