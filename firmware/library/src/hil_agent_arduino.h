/* The agent on any Stream of Arduino: hil_agent_start(hil_arduino(Serial)) in setup(), hil_agent_poll() in loop(). */
#pragma once

#include <Arduino.h>

#include "hil_agent.h"

static inline size_t hil_arduino_read(void *stream, uint8_t *bytes, size_t capacity) {
    Stream &port = *static_cast<Stream *>(stream);
    size_t n = 0;
    while (n < capacity && port.available() > 0) {
        bytes[n++] = static_cast<uint8_t>(port.read());
    }
    return n;
}

static inline void hil_arduino_write(void *stream, const uint8_t *bytes, size_t n) {
    static_cast<Stream *>(stream)->write(bytes, n);
}

static inline uint32_t hil_arduino_time(void *) {
    return static_cast<uint32_t>(micros());
}

/* Return the device on this port. `marker`: drives the pin of the power meter, if there is one. */
static inline const hil_hal_t *hil_arduino(Stream &port, const char *name = "arduino",
                                           void (*marker)(void *, bool) = nullptr) {
    static hil_hal_t hal;
    hal = {hil_arduino_read, hil_arduino_write, hil_arduino_time, marker, &port, name, 1000000, 0};
    return &hal;
}
