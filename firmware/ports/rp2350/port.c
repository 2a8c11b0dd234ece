#include "agent/port.h"

#include "board.h"
#include "dwt.h"
#include "mpu.h"

/* Everything the program uses, and nothing else: any other address faults. RP2350 data sheet, address map. The flash is
   behind a cache of its own, which does not ask for these attributes. */
static const mpu_region_t regions[] = {
    {.base = 0x00000000u, .log2_size = 15, .attributes = MPU_READ_ONLY | MPU_UNCACHED}, /* boot ROM */
    {.base = 0x10000000u, .log2_size = 22, .attributes = MPU_READ_ONLY | MPU_UNCACHED}, /* flash, 4 MB */
    {.base = 0x20000000u, .log2_size = 19, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* SRAM */
    {.base = 0x20080000u, .log2_size = 13, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
    {.base = SIO_BASE, .log2_size = 17, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

void port_init(void) {
    clock_start();
    blocks_restart();
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    dwt_start();
    marker_start();
    uart_start();
}

const char *port_board_name(void) {
    return BOARD_NAME;
}

void tick_start(void) {
    TICKS_TIMER0_CYCLES = BOARD_CRYSTAL_HZ / 1000000u;
    TICKS_TIMER0_CTRL = TICKS_ENABLE;
}

/* The code that erases and programs is in RAM, and the boot ROM flushes the cache of the flash by writes beyond the
   regions. */
void guard_off(void) {
    mpu_pause();
}

void guard_on(void) {
    mpu_resume();
}
