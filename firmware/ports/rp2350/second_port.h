/* The agent has one port only, the UART: nothing drives the USB controller of RP2350. The functions are those of
   ../usb/second_port.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool second_port_speaks(void) {
    return false;
}

static inline void second_port_hushed(void) {
}

static inline void second_port_pump(void) {
}

static inline void second_port_put_polled(uint8_t byte) {
    (void)byte;
}

static inline void second_port_poll(void) {
}
