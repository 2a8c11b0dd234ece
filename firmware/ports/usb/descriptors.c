/* USB 2.0, 9.6; CDC 1.2, 5.2.3 (functional descriptors); PSTN 1.2, 5.3 (those of an abstract control model). */
#include "descriptors.h"

#include <stddef.h>
#include <string.h>

#include "usb.h"

#define RELEASE 0x0100u /* BCD */

#define WORD(value) (uint8_t)((value) & 0xFFu), (uint8_t)((value) >> 8)

enum {
    DEVICE = 1,
    CONFIGURATION = 2,
    STRING = 3,
    INTERFACE = 4,
    ENDPOINT = 5,
    DEVICE_QUALIFIER = 6,
    OTHER_SPEED_CONFIGURATION = 7,
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
                                 WORD(BOARD_USB_VENDOR),
                                 WORD(BOARD_USB_PRODUCT),
                                 WORD(RELEASE),
                                 MAKER,
                                 NAME,
                                 SERIAL_NUMBER,
                                 1 /* configuration */};

enum {
    LONG = 9 + 9 + 5 + 5 + 4 + 5 + 7 + 9 + 7 + 7,
    FED_BY_BUS = 0x80,
    CURRENT_100_MA = 50,
    QUALIFIER_LENGTH = 10,
    KIND = 1,                 /* bDescriptorType (table 9-5) */
    PACKET_SIZE = 4,          /* wMaxPacketSize of an endpoint (table 9-13) */
    FROM_HOST_AT = LONG - 14, /* the descriptors of the endpoints in the configuration */
    TO_HOST_AT = LONG - 7,
    NOTICES_INTERVAL_AT = LONG - 7 - 7 - 9 - 1,
    EVERY_255_MS = 255,
    EVERY_4096_MS = 16, /* 2^15 microframes: the interval of high speed is an exponent */
};
_Static_assert((int)LONG <= (int)USB_DESCRIPTOR_ROOM, "the configuration fits the room");

/* At full speed. */
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
                                        EVERY_255_MS,
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
    case NAME: return "trainrig agent"; /* by which the host knows it (hil/boards) */
    default: return NULL;
    }
}

static uint8_t put(uint8_t *room, uint8_t n, uint16_t character) {
    room[n] = (uint8_t)character;
    room[n + 1] = (uint8_t)(character >> 8);
    return (uint8_t)(n + 2);
}

static uint8_t put_digit(uint8_t *room, uint8_t n, unsigned digit) {
    return put(room, n, (uint16_t)(digit < 10 ? '0' + digit : 'A' + digit - 10));
}

static usb_descriptor_t string(uint8_t index, uint8_t *room) {
    uint8_t n = 2;
    const char *from = text(index);
    if (index == LANGUAGES) {
        n = put(room, n, ENGLISH);
    } else if (index == SERIAL_NUMBER) {
        size_t count;
        const uint8_t *number = usb_serial_number(&count);
        for (size_t i = 0; i < count; i++) {
            n = put_digit(room, put_digit(room, n, number[i] >> 4), number[i] & 0xFu);
        }
    } else if (from == NULL) {
        return (usb_descriptor_t){.bytes = NULL};
    } else {
        for (; *from != '\0'; from++) {
            n = put(room, n, (uint8_t)*from);
        }
    }
    room[0] = n;
    room[1] = STRING;
    return (usb_descriptor_t){.bytes = room, .n = n};
}

static bool has_two_speeds(void) {
    return BOARD_USB_BULK > USB_PACKET;
}

static usb_descriptor_t at_speed(uint8_t kind, bool fast, uint8_t *room) {
    memcpy(room, configuration, sizeof configuration);
    room[KIND] = kind;
    if (fast) {
        room[NOTICES_INTERVAL_AT] = EVERY_4096_MS;
        room[FROM_HOST_AT + PACKET_SIZE] = room[TO_HOST_AT + PACKET_SIZE] = USB_FAST_PACKET & 0xFF;
        room[FROM_HOST_AT + PACKET_SIZE + 1] = room[TO_HOST_AT + PACKET_SIZE + 1] = USB_FAST_PACKET >> 8;
    }
    return (usb_descriptor_t){.bytes = room, .n = sizeof configuration};
}

/* What the device would be at the other speed, which is the same (9.6.2): the device's descriptor without ids and
   strings. */
static usb_descriptor_t qualifier(uint8_t *room) {
    memcpy(room, device, 8);
    room[0] = QUALIFIER_LENGTH;
    room[KIND] = DEVICE_QUALIFIER;
    room[8] = device[sizeof device - 1];
    room[9] = 0;
    return (usb_descriptor_t){.bytes = room, .n = QUALIFIER_LENGTH};
}

usb_descriptor_t usb_descriptor(uint16_t value, uint8_t *room) {
    const uint8_t index = (uint8_t)value;
    const uint8_t kind = (uint8_t)(value >> 8);
    const bool fast = usb_bulk_packet() == USB_FAST_PACKET;
    if (kind == STRING) {
        return string(index, room);
    }
    if (index == 0 && kind == DEVICE) {
        return (usb_descriptor_t){.bytes = device, .n = sizeof device};
    }
    if (index == 0 && kind == CONFIGURATION) {
        return at_speed(kind, fast, room);
    }
    if (index == 0 && kind == OTHER_SPEED_CONFIGURATION && has_two_speeds()) {
        return at_speed(kind, !fast, room);
    }
    if (index == 0 && kind == DEVICE_QUALIFIER && has_two_speeds()) {
        return qualifier(room);
    }
    return (usb_descriptor_t){.bytes = NULL}; /* of the last two, a device of one speed has none (9.6.2, 9.6.4) */
}
