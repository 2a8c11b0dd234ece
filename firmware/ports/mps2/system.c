/* What the ports of all FPGA images have in common. */
#include "agent/messages.h"
#include "agent/port.h"
#include "mps2.h"
#include "ticks.h"

uint32_t port_clock_hz(void) {
    return BOARD_CLOCK_HZ;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_SYSTICK;
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
