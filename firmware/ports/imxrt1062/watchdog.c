#include "board.h"

#include "imxrt1062.h"

/* WDOG1 and WDOG2 wait to be enabled, but their power-down counter, on after reset, pulls WDOG_B low after 16 s
   (IMXRT1060RM, WDOG: power-down counter event). */
static void stop(uint32_t watchdog) {
    WDOG_WMCR(watchdog) = 0;
    if ((WDOG_WCR(watchdog) & WDOG_WCR_WDE) != 0) {
        WDOG_WCR(watchdog) &= (uint16_t)~WDOG_WCR_WDE;
    }
}

void watchdogs_stop(void) {
    stop(WDOG1);
    stop(WDOG2);
    /* RTWDOG is enabled out of reset, with a time-out of 1024 ticks of its 32 kHz: 32 ms. After the unlocking word its
       registers take writes for 128 bus clocks (IMXRT1060RM, RTWDOG: configuring the watchdog). UPDATE lets a
       debugger's flash algorithm do the same later. */
    RTWDOG_CNT = RTWDOG_UNLOCK;
    RTWDOG_TOVAL = 0xFFFF;
    RTWDOG_CS = (RTWDOG_CS & ~RTWDOG_CS_EN) | RTWDOG_CS_UPDATE;
}
