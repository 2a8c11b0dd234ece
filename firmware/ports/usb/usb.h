/* A full-speed USB device with one function, a serial port (CDC ACM). The chip's driver below, the protocol above:
   device.c (USB 2.0, chapter 9), serial_function.c (CDC 1.2 and its subclass for PSTN devices 1.2), descriptors.c.
   All of it runs with interrupts masked or in the controller's handler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The endpoints, by their addresses (USB 2.0, 9.6.6: bit 7 is the direction). All have packets of 64 bytes. */
enum {
    USB_CONTROL_OUT = 0x00,
    USB_CONTROL_IN = 0x80,
    USB_NOTICES = 0x81, /* interrupt; CDC wants it, and nothing is ever sent */
    USB_FROM_HOST = 0x02,
    USB_TO_HOST = 0x82,
    USB_PACKET = 64,
    USB_DIRECTION_IN = 0x80,
};

/* What the chip's driver implements. */

/* Answer at an address from now on. */
void usb_set_address(uint8_t address);

/* Answer at the endpoints that are not the control endpoint, each with DATA0 and nothing to send or take; or no longer.
 */
void usb_open_endpoints(void);
void usb_close_endpoints(void);

/* Send one packet of at most USB_PACKET bytes when the host asks for it. One packet may be on its way. */
void usb_send(uint8_t endpoint, const uint8_t *bytes, size_t n);

/* Take one packet from the host. */
void usb_take(uint8_t endpoint);

/* Answer STALL, at the control endpoint until the next SETUP; or no longer, and begin again with DATA0. A packet that
   was to be sent or taken still is. */
void usb_stall(uint8_t endpoint);
void usb_end_stall(uint8_t endpoint);

/* The number that tells this device from others of its kind: capital hexadecimal digits. */
const char *usb_serial_number(void);

/* What the driver calls. */

/* The host has reset the bus, or the cable is gone: there is neither address nor configuration. */
void usb_was_reset(void);

/* The bus is idle for more than 3 ms: the host sleeps, or nobody is there. */
void usb_was_suspended(void);

/* The host has begun a control transfer. What was on its way at the control endpoint is void; both its directions go on
   with DATA1. */
void usb_setup_received(const uint8_t packet[8]);

/* The host has acknowledged the packet of an endpoint, or sent one, which lies at `bytes` until the next usb_take(). */
void usb_was_sent(uint8_t endpoint);
void usb_was_received(uint8_t endpoint, const volatile uint8_t *bytes, size_t n);
