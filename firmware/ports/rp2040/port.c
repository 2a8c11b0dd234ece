#include "agent/port.h"

#include "agent/messages.h"
#include "board.h"
#include "clock.h"
#include "rp2040.h"
#include "ticks.h"
#include "uart.h"

#define USED_BLOCKS (RESETS_IO_BANK0 | RESETS_PADS_BANK0 | RESETS_TIMER | RESETS_UART0)

/* Whatever a boot ROM or a debugger left in them: through reset, and out of it. */
static void restart_blocks(void) {
    ATOMIC_SET(RESETS_RESET) = USED_BLOCKS;
    ATOMIC_CLEAR(RESETS_RESET) = USED_BLOCKS;
    while ((RESETS_DONE & USED_BLOCKS) != USED_BLOCKS) {
    }
}

static void start_marker(void) {
    port_marker(false);
    SIO_OE_SET = 1u << BOARD_MARKER_PIN;
    GPIO_CTRL(BOARD_MARKER_PIN) = GPIO_FUNCTION_SIO;
}

void port_init(void) {
    clock_start();
    restart_blocks();
    ticks_start();
    start_marker();
    uart_start();
}

const char *port_board_name(void) {
    return "rp2040";
}

uint32_t port_clock_hz(void) {
    return CLOCK_HZ;
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

void port_marker(bool high) {
    if (high) {
        SIO_OUT_SET = 1u << BOARD_MARKER_PIN;
    } else {
        SIO_OUT_CLEAR = 1u << BOARD_MARKER_PIN;
    }
}
