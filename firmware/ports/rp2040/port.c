#include "agent/port.h"

#include "board.h"
#include "ticks.h"

void port_init(void) {
    clock_start();
    blocks_restart();
    ticks_start();
    marker_start();
    uart_start();
    usb_start();
}

const char *port_board_name(void) {
    return BOARD_NAME;
}

uint32_t port_cycles(void) {
    return ticks_read();
}

/* 4.7.2: the watchdog's tick is the timer's too. */
void tick_start(void) {
    WATCHDOG_TICK = WATCHDOG_TICK_ENABLE | BOARD_CRYSTAL_HZ / 1000000u;
}

/* The protection unit of the Cortex-M0+ is not used. */
void guard_off(void) {
}

void guard_on(void) {
}
