/* USB 2.0, 9.6; CDC 1.2, 5.2.3 (functional descriptors); PSTN 1.2, 5.3 (those of an abstract control model). */
#include "descriptors.h"

#include <stddef.h>

#include "usb.h"

/* The pair that Raspberry Pi allows to every program on an RP2040 with a standard function, to be told apart by its
   strings (github.com/raspberrypi/usb-pid, Readme.md, "Use of the IDs"; entry 0x000A). A port to another chip needs a
   pair of its own. */
#define VENDOR 0x2E8Au
#define PRODUCT 0x000Au
#define RELEASE 0x0100u /* BCD */

#define WORD(value) (uint8_t)((value) & 0xFFu), (uint8_t)((value) >> 8)

enum {
    DEVICE = 1,
    CONFIGURATION = 2,
    STRING = 3,
    INTERFACE = 4,
    ENDPOINT = 5,
    CLASS_INTERFACE = 0x24,
    CLASS_COMMUNICATIONS = 2,
    CLASS_DATA = 0x0A,
    ABSTRACT_CONTROL_MODEL = 2,
    BULK = 2,
    INTERRUPT = 3,
    LANGUAGES = 0,
    MAKER = 1,
    NAME = 2,
    SERIAL_NUMBER = 3,
    ENGLISH = 0x0409,
};

static const uint8_t device[] = {18,
                                 DEVICE,
                                 WORD(0x0200u),
                                 CLASS_COMMUNICATIONS,
                                 0,
                                 0,
                                 USB_PACKET,
                                 WORD(VENDOR),
                                 WORD(PRODUCT),
                                 WORD(RELEASE),
                                 MAKER,
                                 NAME,
                                 SERIAL_NUMBER,
                                 1 /* configuration */};

enum { LONG = 9 + 9 + 5 + 5 + 4 + 5 + 7 + 9 + 7 + 7, FED_BY_BUS = 0x80, CURRENT_100_MA = 50 };

static const uint8_t configuration[] = {9,
                                        CONFIGURATION,
                                        WORD(LONG),
                                        2 /* interfaces */,
                                        USB_CONFIGURATION,
                                        0,
                                        FED_BY_BUS,
                                        CURRENT_100_MA,
                                        9,
                                        INTERFACE,
                                        USB_SERIAL_INTERFACE,
                                        0,
                                        1,
                                        CLASS_COMMUNICATIONS,
                                        ABSTRACT_CONTROL_MODEL,
                                        0,
                                        0,
                                        5,
                                        CLASS_INTERFACE,
                                        0,
                                        WORD(0x0110u), /* header: CDC 1.1, as drivers know it */
                                        5,
                                        CLASS_INTERFACE,
                                        1,
                                        0,
                                        USB_DATA_INTERFACE, /* no call management */
                                        4,
                                        CLASS_INTERFACE,
                                        2,
                                        1 << 1, /* line coding and control lines */
                                        5,
                                        CLASS_INTERFACE,
                                        6,
                                        USB_SERIAL_INTERFACE,
                                        USB_DATA_INTERFACE, /* they are one function */
                                        7,
                                        ENDPOINT,
                                        USB_NOTICES,
                                        INTERRUPT,
                                        WORD(8u),
                                        255,
                                        9,
                                        INTERFACE,
                                        USB_DATA_INTERFACE,
                                        0,
                                        2,
                                        CLASS_DATA,
                                        0,
                                        0,
                                        0,
                                        7,
                                        ENDPOINT,
                                        USB_FROM_HOST,
                                        BULK,
                                        WORD((unsigned)USB_PACKET),
                                        0,
                                        7,
                                        ENDPOINT,
                                        USB_TO_HOST,
                                        BULK,
                                        WORD((unsigned)USB_PACKET),
                                        0};
_Static_assert(sizeof configuration == LONG, "wTotalLength");

static const char *text(uint8_t index) {
    switch (index) {
    case MAKER: return "trainrig";
    case NAME: return "trainrig agent"; /* by which the host knows it (hil/boards/rp2040.toml) */
    case SERIAL_NUMBER: return usb_serial_number();
    default: return NULL;
    }
}

/* At most 31 characters fit. */
static usb_descriptor_t string(uint8_t index, uint8_t *room) {
    uint8_t n = 2;
    const char *from = text(index);
    if (index == LANGUAGES) {
        room[n++] = ENGLISH & 0xFF;
        room[n++] = ENGLISH >> 8;
    } else if (from == NULL) {
        return (usb_descriptor_t){.bytes = NULL};
    } else {
        for (; *from != '\0' && n < USB_PACKET; from++) {
            room[n++] = (uint8_t)*from;
            room[n++] = 0;
        }
    }
    room[0] = n;
    room[1] = STRING;
    return (usb_descriptor_t){.bytes = room, .n = n};
}

usb_descriptor_t usb_descriptor(uint16_t value, uint8_t *room) {
    const uint8_t index = (uint8_t)value;
    switch (value >> 8) {
    case DEVICE:
        return index == 0 ? (usb_descriptor_t){.bytes = device, .n = sizeof device} : (usb_descriptor_t){.bytes = NULL};
    case CONFIGURATION:
        return index == 0 ? (usb_descriptor_t){.bytes = configuration, .n = sizeof configuration}
                          : (usb_descriptor_t){.bytes = NULL};
    case STRING: return string(index, room);
    default: return (usb_descriptor_t){.bytes = NULL}; /* no qualifier: the device has one speed (9.6.2) */
    }
}
