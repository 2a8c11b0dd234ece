#include "hil_port.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/messages.h"
#include "agent/port.h"
#include "arith/xxh32.h"

enum { LEAST_RX_BYTES = 64 }; /* buffer of the serial port of small Arduino boards */

/* What is flashed, for its digest. A linker script need not define them: their addresses are then 0. */
extern const uint8_t __image_start[] __attribute__((weak));
extern const uint8_t __image_end[] __attribute__((weak));

static const hil_hal_t *hal;
static bool between_frames;

void hil_port_start(const hil_hal_t *device) {
    hal = device;
    between_frames = true;
}

void hil_marker(bool high) {
    port_marker(high);
}

const char *port_board_name(void) {
    return hal->name != NULL ? hal->name : "";
}

uint32_t port_clock_hz(void) {
    return hal->time_hz;
}

uint32_t port_cpuid(void) {
    return 0; /* a task without privileges must not read the register */
}

uint16_t port_rx_window(void) {
    return hal->rx_bytes != 0 ? hal->rx_bytes : LEAST_RX_BYTES;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_NONE;
}

uint32_t port_cycles(void) {
    return hal->time(hal->context);
}

void port_counter_restart(void) {
}

void port_marker(bool high) {
    if (hal->marker != NULL) {
        hal->marker(hal->context, high);
    }
}

/* A frame begins with a zero, the end of an empty one: what the program has printed since the last frame is then no part
   of this one. Of a frame only the last byte is zero (COBS). */
void port_uart_write(const uint8_t *bytes, size_t n) {
    if (n == 0) {
        return;
    }
    if (between_frames) {
        hal->write(hal->context, &(const uint8_t){0}, 1);
    }
    hal->write(hal->context, bytes, n);
    between_frames = bytes[n - 1] == 0;
}

size_t port_uart_read(uint8_t *bytes, size_t capacity) {
    const size_t n = hal->read(hal->context, bytes, capacity);
    return n <= capacity ? n : 0; /* such as (size_t)-1, a read that failed because nothing has come */
}

void port_sleep_ms(uint32_t ms) {
    const uint32_t start = port_cycles(), counts = ms * (hal->time_hz / 1000u);
    while (port_cycles() - start < counts) {
    }
}

memory_range_t memory_image(void) {
    const uintptr_t start = (uintptr_t)__image_start, end = (uintptr_t)__image_end;
    return (memory_range_t){.base = (uint8_t *)start, .size = (uint32_t)(end - start)};
}

uint32_t memory_image_digest(void) {
    const memory_range_t image = memory_image();
    return image.size != 0 ? xxh32(image.base, image.size, 0) : 0;
}

/* Of the memory a program without this project's linker script says nothing: the host reads it through the probe. */
uint32_t memory_static(void) {
    return 0;
}

memory_range_t memory_arena(void) {
    return (memory_range_t){.size = 0};
}

memory_range_t memory_stack(void) {
    return (memory_range_t){.size = 0};
}

uint32_t memory_stack_peak(void) {
    return 0;
}
