#include "agent/port.h"

#include "agent/messages.h"
#include "an500.h"
#include "mpu.h"
#include "ticks.h"
#include "uart.h"

/* Everything the program uses: any other address faults, which the emulator alone would let pass. Memory map: AN500. */
static const mpu_region_t regions[] = {
    {.base = 0x00000000u, .log2_size = 22, .attributes = MPU_READ_ONLY | MPU_UNCACHED},
    {.base = 0x20000000u, .log2_size = 22, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

void port_init(void) {
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    ticks_start();
    uart_start();
}

const char *port_board_name(void) {
    return "mps2-an500";
}

uint32_t port_clock_hz(void) {
    return SYSTEM_CLOCK_HZ;
}

uint32_t port_cpuid(void) {
    return SCB_CPUID;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_SYSTICK;
}

uint32_t port_cycles(void) {
    return ticks_read();
}

/* SysTick is the counter of cycles here and must not be restarted: the time is spent awake. */
void port_sleep_ms(uint32_t ms) {
    const uint32_t start = ticks_read(), cycles = ms * (SYSTEM_CLOCK_HZ / 1000u);
    while (ticks_read() - start < cycles) {
    }
}

void port_marker(bool high) {
    FPGAIO_LED = high ? FPGAIO_LED | FPGAIO_LED0 : FPGAIO_LED & ~FPGAIO_LED0;
}
