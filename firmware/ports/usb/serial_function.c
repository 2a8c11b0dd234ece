#include "serial_function.h"

#include <string.h>

#include "agent/port.h"
#include "serial.h"
#include "usb.h"

enum { DTR = 1 << 0, LONGEST = BOARD_USB_PACKETS * BOARD_USB_BULK };

static struct {
    uint8_t coding[LINE_CODING_SIZE];
    bool dtr;
    bool open;
    bool speaks;
    bool sending;                 /* packets are on their way to the host */
    bool filled;                  /* the last was full: one that is not has to follow, or the host waits for more */
    const volatile uint8_t *held; /* a packet that found no room */
    uint16_t held_length;
    uint16_t packet; /* bytes of a full one */
    uint8_t leaving[LONGEST];
} port;

/* 115,200 baud, one stop bit, no parity, 8 bits; it has no effect. */
static const uint8_t usual_coding[LINE_CODING_SIZE] = {0x00, 0xC2, 0x01, 0x00, 0, 0, 8};

static uint32_t baud(void) {
    return (uint32_t)port.coding[0] | (uint32_t)port.coding[1] << 8 | (uint32_t)port.coding[2] << 16 |
           (uint32_t)port.coding[3] << 24;
}

static void forget(void) {
    port.sending = false;
    port.filled = false;
    port.held = NULL;
    port.speaks = false;
}

void serial_function_open(void) {
    forget();
    port.open = true;
    port.packet = (uint16_t)usb_bulk_packet();
    memcpy(port.coding, usual_coding, sizeof port.coding);
    usb_take(USB_FROM_HOST);
}

void serial_function_close(void) {
    forget();
    port.open = false;
    port.dtr = false;
}

const uint8_t *serial_function_line_coding(void) {
    return port.coding;
}

void serial_function_set_line_coding(const volatile uint8_t *coding) {
    for (size_t i = 0; i < LINE_CODING_SIZE; i++) {
        port.coding[i] = coding[i];
    }
}

/* A host that closes the port reads no more: what is queued then would fill the queue for ever. */
void serial_function_set_lines(uint16_t lines) {
    const bool dtr = (lines & DTR) != 0;
    if (port.dtr && !dtr) {
        port.speaks = false;
    }
    port.dtr = dtr;
}

/* A port that is closed at this rate: the boot loader is wanted, as other programs for the board have it. Asked when the request is over, so that the host does not take it for failed. */
void serial_function_after_request(void) {
    if (port.open && !port.dtr && baud() == BOARD_BOOT_LOADER_BAUD && port_has_boot_loader()) {
        port_enter_boot_loader();
    }
}

static void send(void) {
    const size_t most = (size_t)BOARD_USB_PACKETS * port.packet;
    size_t n = 0;
    while (n < most && serial_next(&port.leaving[n])) {
        n++;
    }
    if (n > 0 || port.filled) {
        port.sending = true;
        port.filled = n > 0 && n % port.packet == 0;
        usb_send(USB_TO_HOST, port.leaving, n);
    }
}

void serial_function_sent(void) {
    port.sending = false;
    serial_function_pump();
}

static void take_held(void) {
    if (!serial_has_room(port.held_length)) {
        return; /* the host waits meanwhile: that is USB's flow control */
    }
    for (size_t i = 0; i < port.held_length; i++) {
        serial_received(port.held[i]);
    }
    port.held = NULL;
    usb_take(USB_FROM_HOST);
}

void serial_function_received(const volatile uint8_t *bytes, size_t n) {
    port.speaks |= n > 0;
    port.held = bytes;
    port.held_length = (uint16_t)n;
    take_held();
}

bool serial_function_speaks(void) {
    return port.speaks;
}

void serial_function_hushed(void) {
    port.speaks = false;
}

void serial_function_pump(void) {
    if (port.held != NULL) {
        take_held();
    }
    if (port.speaks && !port.sending) {
        send();
    }
}

bool serial_function_is_idle(void) {
    return !port.sending;
}

void serial_function_put(uint8_t byte) {
    port.sending = true;
    port.filled = false;
    usb_send(USB_TO_HOST, &byte, 1);
}
