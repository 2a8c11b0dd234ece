/* The USB device and the rings of serial.c over a controller that a test drives by tokens: SETUP, IN and OUT go in on
   standard input, what the controller answers comes out. */
#include "harness_usb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/port.h"
#include "cortex_m.h"
#include "second_port.h"
#include "serial.h"

uint32_t nvic_enabled, nvic_pending, nvic_ended;

static uint8_t boots;
static uint8_t uart_sent[1 << 16];
static size_t uart_count;

void must(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "the device %s\n", what);
        abort();
    }
}

bool port_has_boot_loader(void) {
    return true;
}

void port_enter_boot_loader(void) {
    boots++;
}

void uart_pump(void) {
    uint8_t byte;
    if (serial_function_speaks()) {
        serial_function_pump();
        return;
    }
    while (serial_next(&byte)) {
        uart_sent[uart_count++ % sizeof uart_sent] = byte;
    }
}

void uart_poll(void) {
    uart_pump();
    second_port_poll();
}

void uart_put_polled(uint8_t byte) {
    (void)byte;
}

void serial_before_sleep(void) {
    must(!serial_pending(), "waits for room in a queue that nobody empties");
}

void serial_after_sleep(void) {
}

void answer(uint8_t what, const uint8_t *bytes, size_t n) {
    const uint8_t head[3] = {what, (uint8_t)n, (uint8_t)(n >> 8)};
    fwrite(head, 1, sizeof head, stdout);
    if (n > 0) {
        fwrite(bytes, 1, n, stdout);
    }
    fflush(stdout);
}

static void command(uint8_t what, uint8_t argument, uint8_t *bytes, size_t n) {
    uint8_t read[4096];
    switch (what) {
    case 'R': bus_reset(); break;
    case 'Z': bus_suspend(); break;
    case 'S': setup_token(bytes); break;
    case 'W': port_uart_write(bytes, n); break;
    case 'U':
        for (size_t i = 0; i < n; i++) {
            serial_function_hushed();
            serial_received(bytes[i]);
        }
        break;
    case 'I': in_token(argument, true); return;
    case 'i': in_token(argument, false); return;
    case '0': out_token(argument, false, bytes, n); return;
    case '1': out_token(argument, true, bytes, n); return;
    case 'r': {
        const size_t count = port_uart_read(read, argument);
        run_interrupts();
        answer(ACK, read, count);
        return;
    }
    case 'B': answer(ACK, (const uint8_t[]){bus_address(), boots}, 2); return;
    case 'u':
        answer(ACK, uart_sent, uart_count);
        uart_count = 0;
        return;
    default: special(what, argument, bytes); break;
    }
    run_interrupts();
    answer(ACK, NULL, 0);
}

int main(void) {
    uint8_t head[4], bytes[4096];
    bus_start();
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        const size_t n = (size_t)(head[2] | head[3] << 8);
        if (n > sizeof bytes || fread(bytes, 1, n, stdin) != n) {
            return 1;
        }
        command(head[0], head[1], bytes, n);
    }
    return 0;
}
