/* A controller with one buffer for each endpoint and direction, as simple ones have. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness_usb.h"
#include "usb.h"

typedef struct {
    bool open, stalled, armed;
    bool data1;
    uint8_t bytes[USB_PACKET];
    size_t n;
} endpoint_t;

static endpoint_t endpoints[16][2]; /* OUT, IN */
static uint8_t address;

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

size_t usb_bulk_packet(void) {
    return USB_PACKET;
}

bool usb_is_on(void) {
    return true;
}

void usb_handler(void) {
}

const uint8_t *usb_serial_number(size_t *n) {
    static const uint8_t number[] = {0xE6, 0x61, 0x41, 0x03, 0xE7, 0x45, 0x2A, 0x2F};
    *n = sizeof number;
    return number;
}

void bus_reset(void) {
    memset(endpoints, 0, sizeof endpoints);
    at(USB_CONTROL_OUT)->open = at(USB_CONTROL_IN)->open = true;
    usb_was_reset();
}

void setup_token(const uint8_t packet[8]) {
    *at(USB_CONTROL_OUT) = *at(USB_CONTROL_IN) = (endpoint_t){.open = true, .data1 = true};
    usb_setup_received(packet);
}

void in_token(uint8_t endpoint, bool acknowledged) {
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

void out_token(uint8_t endpoint, bool data1, const uint8_t *bytes, size_t n) {
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

void bus_start(void) {
    bus_reset();
}

void bus_suspend(void) {
    usb_was_suspended();
}

uint8_t bus_address(void) {
    return address;
}

void run_interrupts(void) {
}

void special(uint8_t what, uint8_t argument, const uint8_t *bytes) {
    (void)what, (void)argument, (void)bytes;
    abort();
}
