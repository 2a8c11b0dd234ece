#include "dwt.h"

#include "agent/messages.h"
#include "agent/port.h"
#include "board.h"
#include "cortex_m.h"
#include "serial.h"

void dwt_start(void) {
    DEMCR |= DEMCR_TRCENA;
    if (BOARD_DWT_LOCKED) {
        DWT_LAR = CORESIGHT_UNLOCK;
    }
    DWT_CYCCNT = 0;
    DWT_CTRL |= DWT_CTRL_CYCCNTENA;
}

/* pyOCD clears DEMCR, and TRCENA with it, when it disconnects. */
void port_counter_restart(void) {
    dwt_start();
}

uint8_t port_counter(void) {
    return MSG_COUNTER_DWT;
}

uint32_t port_cycles(void) {
    return DWT_CYCCNT;
}

/* CYCCNT needs no help: it follows the processor clock and stops with it. */
void serial_before_sleep(void) {
}

void serial_after_sleep(void) {
}
