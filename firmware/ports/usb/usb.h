/* A USB device with one function, a serial port (CDC ACM). The chip's driver below, the protocol above: device.c (USB
   2.0, chapter 9), serial_function.c (CDC 1.2 and its subclass for PSTN devices 1.2), descriptors.c, second_port.c.
   All of it runs with interrupts masked or in the controller's handler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board.h"

/* The endpoints, by their addresses (USB 2.0, 9.6.6: bit 7 is the direction), and the bytes of a full packet: at the
   control endpoint, and at the bulk endpoints at full and at high speed (5.5.3, 5.8.3). */
enum {
    USB_CONTROL_OUT = 0x00,
    USB_CONTROL_IN = 0x80,
    USB_NOTICES = 0x81, /* interrupt; CDC wants it, and nothing is ever sent */
    USB_FROM_HOST = 0x02,
    USB_TO_HOST = 0x82,
    USB_PACKET = 64,
    USB_FAST_PACKET = 512,
    USB_DIRECTION_IN = 0x80,
};

/* What the board's header says of its USB: BOARD_USB_VENDOR and BOARD_USB_PRODUCT, the ids; BOARD_USB_BULK, the bytes
   of a bulk packet at the highest speed; BOARD_USB_PACKETS, how many of them usb_send() takes at once;
   BOARD_BOOT_LOADER_BAUD, the rate at which a closed port asks for the boot loader. */

/* What the chip's driver implements. */

/* Answer at an address from now on. */
void usb_set_address(uint8_t address);

/* Answer at the endpoints that are not the control endpoint, each with DATA0 and nothing to send or take; or no longer.
 */
void usb_open_endpoints(void);
void usb_close_endpoints(void);

/* Bytes of a full bulk packet at the speed that the bus has since its last reset. */
size_t usb_bulk_packet(void);

/* Send one packet, at USB_TO_HOST up to BOARD_USB_PACKETS of them, all but the last full, when the host asks for it.
   The next call at an endpoint comes once all was sent. */
void usb_send(uint8_t endpoint, const uint8_t *bytes, size_t n);

/* Take one packet from the host. */
void usb_take(uint8_t endpoint);

/* Whether the controller can be asked: a cable is there. */
bool usb_is_on(void);

/* The handler of the controller's interrupt. */
void usb_handler(void);

/* Answer STALL, at the control endpoint until the next SETUP; or no longer, and begin again with DATA0. A packet that
   was to be sent or taken still is. */
void usb_stall(uint8_t endpoint);
void usb_end_stall(uint8_t endpoint);

/* The number that tells this device from others of its kind, 8 bytes at most, the first one highest; none: it is not
   known. */
const uint8_t *usb_serial_number(size_t *n);

/* What the driver calls. */

/* The host has reset the bus, or the cable is gone: there is neither address nor configuration. */
void usb_was_reset(void);

/* The bus is idle for more than 3 ms: the host sleeps, or nobody is there. */
void usb_was_suspended(void);

/* The host has begun a control transfer. What was on its way at the control endpoint is void; both its directions go on
   with DATA1. */
void usb_setup_received(const uint8_t packet[8]);

/* The host has acknowledged what an endpoint sent, or sent a packet, which lies at `bytes` until the next usb_take(). */
void usb_was_sent(uint8_t endpoint);
void usb_was_received(uint8_t endpoint, const volatile uint8_t *bytes, size_t n);
