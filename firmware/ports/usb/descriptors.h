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

enum { USB_DESCRIPTOR_ROOM = 76 };

/* The descriptor that wValue of GET_DESCRIPTOR names; all but that of the device are written to `room`, of
   USB_DESCRIPTOR_ROOM bytes. */
usb_descriptor_t usb_descriptor(uint16_t value, uint8_t *room);
