/* The second port of the agent, which shares the rings of serial.c with the UART: USB. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "serial_function.h"

/* Whether bytes for the host go there, and not to the UART. */
static inline bool second_port_speaks(void) {
    return serial_function_speaks();
}

/* The UART has received: the rings are its own. */
static inline void second_port_hushed(void) {
    serial_function_hushed();
}

/* Send what is queued. Interrupts are masked. */
static inline void second_port_pump(void) {
    serial_function_pump();
}

/* Send a byte by polling, while a host on USB listens. */
void second_port_put_polled(uint8_t byte);

/* Do what its interrupt would, which is then over; take and send what waits. Interrupts are masked. */
void second_port_poll(void);
