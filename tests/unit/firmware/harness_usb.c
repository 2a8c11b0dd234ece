/* The USB device and the rings of serial.c over a controller that a test drives by tokens: SETUP, IN and OUT go in on
   standard input, what the controller answers comes out. It has one buffer for each endpoint and direction, as simple
   controllers do. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/port.h"
#include "serial.h"
#include "serial_function.h"
#include "usb.h"

enum { NAK, STALL, DATA0, DATA1, ACK, SILENT };

typedef struct {
    bool open, stalled, armed;
    bool data1;
    uint8_t bytes[USB_PACKET];
    size_t n;
} endpoint_t;

static endpoint_t endpoints[16][2]; /* OUT, IN */
static uint8_t address, boots;
static uint8_t uart_sent[1 << 16];
static size_t uart_count;

static endpoint_t *at(uint8_t endpoint) {
    return &endpoints[endpoint & 15][endpoint >> 7];
}

void usb_set_address(uint8_t to) {
    address = to;
}

static void set_open(bool open) {
    const uint8_t all[] = {USB_NOTICES, USB_FROM_HOST, USB_TO_HOST};
    for (size_t i = 0; i < sizeof all; i++) {
        *at(all[i]) = (endpoint_t){.open = open};
    }
}

void usb_open_endpoints(void) {
    set_open(true);
}

void usb_close_endpoints(void) {
    set_open(false);
}

static void must(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "the device %s\n", what);
        abort();
    }
}

void usb_send(uint8_t endpoint, const uint8_t *bytes, size_t n) {
    endpoint_t *one = at(endpoint);
    must(one->open && !one->armed && n <= USB_PACKET && endpoint >= USB_DIRECTION_IN, "sends what it may not");
    for (size_t i = 0; i < n; i++) {
        one->bytes[i] = bytes[i];
    }
    one->n = n;
    one->armed = true;
}

void usb_take(uint8_t endpoint) {
    endpoint_t *one = at(endpoint);
    must(one->open && !one->armed && endpoint < USB_DIRECTION_IN, "takes what it may not");
    one->armed = true;
}

void usb_stall(uint8_t endpoint) {
    at(endpoint)->stalled = true;
}

void usb_end_stall(uint8_t endpoint) {
    at(endpoint)->stalled = false;
    at(endpoint)->data1 = false;
}

const char *usb_serial_number(void) {
    return "E6614103E7452A2F";
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
    serial_function_pump();
    uart_pump();
}

void uart_put_polled(uint8_t byte) {
    (void)byte;
}

void serial_before_sleep(void) {
    must(!serial_pending(), "waits for room in a queue that nobody empties");
}

void serial_after_sleep(void) {
}

static void reset(void) {
    memset(endpoints, 0, sizeof endpoints);
    at(USB_CONTROL_OUT)->open = at(USB_CONTROL_IN)->open = true;
    usb_was_reset();
}

static void setup(const uint8_t *packet) {
    *at(USB_CONTROL_OUT) = *at(USB_CONTROL_IN) = (endpoint_t){.open = true, .data1 = true};
    usb_setup_received(packet);
}

static void answer(uint8_t what, const uint8_t *bytes, size_t n) {
    const uint8_t head[3] = {what, (uint8_t)n, (uint8_t)(n >> 8)};
    fwrite(head, 1, sizeof head, stdout);
    if (n > 0) {
        fwrite(bytes, 1, n, stdout);
    }
    fflush(stdout);
}

/* `acknowledged`: whether the host's ACK arrives. */
static void in_token(uint8_t endpoint, bool acknowledged) {
    endpoint_t *one = at(endpoint);
    if (!one->open) {
        answer(SILENT, NULL, 0);
    } else if (one->stalled) {
        answer(STALL, NULL, 0);
    } else if (!one->armed) {
        answer(NAK, NULL, 0);
    } else {
        answer(one->data1 ? DATA1 : DATA0, one->bytes, one->n);
        if (acknowledged) {
            one->armed = false;
            one->data1 = !one->data1;
            usb_was_sent(endpoint);
        }
    }
}

static void out_token(uint8_t endpoint, bool data1, const uint8_t *bytes, size_t n) {
    endpoint_t *one = at(endpoint);
    if (!one->open || one->stalled || !one->armed) {
        answer(!one->open ? SILENT : one->stalled ? STALL : NAK, NULL, 0);
        return;
    }
    if (data1 == one->data1) { /* else it is a repeat of one whose ACK was lost */
        memcpy(one->bytes, bytes, n);
        one->armed = false;
        one->data1 = !one->data1;
        usb_was_received(endpoint, one->bytes, n);
    }
    answer(ACK, NULL, 0);
}

static void command(uint8_t what, uint8_t argument, uint8_t *bytes, size_t n) {
    uint8_t read[4096];
    switch (what) {
    case 'R': reset(); break;
    case 'Z': usb_was_suspended(); break;
    case 'S': setup(bytes); break;
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
    case 'r': answer(ACK, read, port_uart_read(read, argument)); return;
    case 'B': answer(ACK, (const uint8_t[]){address, boots}, 2); return;
    case 'u':
        answer(ACK, uart_sent, uart_count);
        uart_count = 0;
        return;
    default: abort();
    }
    answer(ACK, NULL, 0);
}

int main(void) {
    uint8_t head[4], bytes[4096];
    reset();
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        const size_t n = (size_t)(head[2] | head[3] << 8);
        if (n > sizeof bytes || fread(bytes, 1, n, stdin) != n) {
            return 1;
        }
        command(head[0], head[1], bytes, n);
    }
    return 0;
}
