/* What the ports of all FPGA images have in common. */
#include "agent/port.h"
#include "mps2.h"
#include "mpu.h"
#include "ticks.h"

/* Everything the program uses: any other address faults, which the emulator by itself would let pass. Memory maps of
   the images. Armv6-M has no MPU. */
static void protect(void) {
#if __ARM_ARCH >= 7
    static const mpu_region_t regions[] = {
        {.base = BOARD_CODE, .log2_size = 22, .attributes = MPU_READ_ONLY | MPU_UNCACHED},
        {.base = BOARD_DATA, .log2_size = 22, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
        {.base = BOARD_PERIPHERALS,
         .log2_size = BOARD_PERIPHERALS_LOG2,
         .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
    };
    mpu_start(regions, sizeof regions / sizeof regions[0]);
#endif
}

void port_init(void) {
    protect();
    ticks_start();
    uart_start();
}

const char *port_board_name(void) {
    return BOARD_NAME;
}

uint32_t port_clock_hz(void) {
    return BOARD_CLOCK_HZ;
}

uint32_t port_cycles(void) {
    return ticks_read();
}

/* SysTick is the counter of cycles here and must not be restarted: the time is spent awake. */
void port_sleep_ms(uint32_t ms) {
    const uint32_t start = ticks_read(), cycles = ms * (BOARD_CLOCK_HZ / 1000u);
    while (ticks_read() - start < cycles) {
    }
}

void port_marker(bool high) {
    FPGAIO_LED = high ? FPGAIO_LED | FPGAIO_LED0 : FPGAIO_LED & ~FPGAIO_LED0;
}
