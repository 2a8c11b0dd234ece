/* What the device says of itself. */
#pragma once

#include <stdint.h>

enum {
    USB_CONFIGURATION = 1,    /* the value of the only one */
    USB_SERIAL_INTERFACE = 0, /* takes the requests of the serial port */
    USB_DATA_INTERFACE = 1,
};

typedef struct {
    const uint8_t *bytes; /* NULL: there is no such descriptor */
    uint16_t n;
} usb_descriptor_t;

/* The descriptor that wValue of GET_DESCRIPTOR names. That of a string is written to `room`, of 64 bytes. */
usb_descriptor_t usb_descriptor(uint16_t value, uint8_t *room);
