#include "agent/port.h"

#include "mps2.h"
#include "mpu.h"
#include "ticks.h"
#include "uart.h"

/* Everything the program uses: any other address faults, which the emulator by itself would let pass. Memory map:
   AN505, Secure aliases. */
static const mpu_region_t regions[] = {
    {.base = 0x10000000u, .log2_size = 22, .attributes = MPU_READ_ONLY | MPU_UNCACHED},
    {.base = 0x38000000u, .log2_size = 22, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x50000000u, .log2_size = 28, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

void port_init(void) {
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    ticks_start();
    uart_start();
}

const char *port_board_name(void) {
    return "mps2-an505";
}
