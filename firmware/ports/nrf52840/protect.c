#include "board.h"

#include <stdint.h>

#include "nrf52840.h"

enum { HARDENED_FROM = 'F', LAST_BUILD = 'Z', OPEN = 0x5A, ERASED = 0xFF };

/* From build code F on the port is closed at power-on, pin reset and watchdog reset unless UICR.APPROTECT is 0x5A and,
   after it, APPROTECT.DISABLE is written 0x5A. On older ones 0x5A in UICR would close it (Product Specification, debug
   and trace: access port protection). The build code is the third letter of four in FICR.INFO.VARIANT; 0xFFFFFFFF says
   nothing. */
static bool hardened(void) {
    const uint32_t build = FICR_INFO_VARIANT >> 8 & 0xFFu;
    return build >= HARDENED_FROM && build <= LAST_BUILD;
}

static uint32_t wanted(void) {
    return UICR_APPROTECT & 0xFFu;
}

static void nvmc_mode(uint32_t mode) {
    NVMC_CONFIG = mode;
    while (NVMC_READY == 0) {
    }
}

/* After an erase of all the chip: without this the next power-on would close the port, and only another such erase open
   it. */
static void choose_open(void) {
    nvmc_mode(NVMC_CONFIG_WRITE);
    UICR_APPROTECT = 0xFFFFFF00u | OPEN;
    while (NVMC_READY == 0) {
    }
    nvmc_mode(NVMC_CONFIG_READ);
    if (wanted() == OPEN) { /* UICR is read by the hardware at reset only */
        barrier();
        SCB_AIRCR = AIRCR_SYSRESETREQ;
        barrier();
        for (;;) {
        }
    }
}

void protect_start(void) {
    if (!hardened()) {
        return;
    }
    if (wanted() == ERASED) {
        choose_open();
    }
    if (wanted() == OPEN) { /* anything else is a decision to protect, and is kept */
        APPROTECT_DISABLE = OPEN;
    }
}
