#include "agent/port.h"

#include "board.h"
#include "cache.h"
#include "dwt.h"
#include "imxrt1062.h"
#include "mpu.h"

static uint32_t core_hz;

#define LAST_EIGHTH_OFF (0x80u << 8) /* the subregions of MPU_RASR [B3.5.9] */

/* Everything the program uses, and nothing else: any other address faults. Memory map: IMXRT1060RM, chapter 3. */
static const mpu_region_t regions[] = {
    {.base = 0x60000000u, .log2_size = 21, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 2 MB */
    {.base = 0x20000000u,
     .log2_size = 16,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* DTCM, 64 KB */
    {.base = 0x20200000u,
     .log2_size = 20,
     .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE | LAST_EIGHTH_OFF}, /* OCRAM, 896 KB */
    {.base = 0x40000000u, .log2_size = 26, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

static void start_marker(void) {
    open_gates(&CCM_CCGR3, CCM_CCGR3_GPIO4);
    open_gates(&CCM_CCGR4, CCM_CCGR4_IOMUXC);
    port_marker(false);
    GPIO_GDIR(BOARD_MARKER_PORT) |= 1u << BOARD_MARKER_PIN;
    MUX_GPIO_EMC_04 = MUX_ALT5_GPIO;
}

void port_init(void) {
    watchdogs_stop();
    SYST_CSR = 0; /* the boot ROM may have left it on (NXP, system_MIMXRT1062.c) */
    core_hz = clock_start();
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    cache_start();
    dwt_start();
    start_marker();
    uart_start();
    usb_start();
}

const char *port_board_name(void) {
    return "imxrt1062";
}

uint32_t port_clock_hz(void) {
    return core_hz;
}

void port_marker(bool high) {
    if (high) {
        GPIO_DR_SET(BOARD_MARKER_PORT) = 1u << BOARD_MARKER_PIN;
    } else {
        GPIO_DR_CLEAR(BOARD_MARKER_PORT) = 1u << BOARD_MARKER_PIN;
    }
}
