/* Control transfers and the standard requests (USB 2.0, 8.5.3 and 9.4). A new SETUP ends whatever transfer was under
   way; what a request does not allow is answered with STALL. */
#include "descriptors.h"
#include "serial_function.h"
#include "usb.h"

/* bmRequestType (9.3.1) and bRequest (9.4, table 9-4; PSTN 1.2, table 13). */
enum {
    TO_DEVICE = 0x00,
    TO_INTERFACE = 0x01,
    TO_ENDPOINT = 0x02,
    OF_CLASS = 0x20,

    GET_STATUS = 0,
    CLEAR_FEATURE = 1,
    SET_FEATURE = 3,
    SET_ADDRESS = 5,
    GET_DESCRIPTOR = 6,
    GET_CONFIGURATION = 8,
    SET_CONFIGURATION = 9,
    GET_INTERFACE = 10,
    SET_INTERFACE = 11,

    SET_LINE_CODING = 0x20,
    GET_LINE_CODING = 0x21,
    SET_CONTROL_LINE_STATE = 0x22,

    ENDPOINT_HALT = 0,
    LAST_ADDRESS = 127,
};
#define REQUEST(type, request) ((unsigned)(type) << 8 | (unsigned)(request))

typedef struct {
    uint8_t type, request;
    uint16_t value, index, length;
} setup_t;

typedef enum { IDLE, DATA_IN, DATA_OUT, STATUS_IN } stage_t;

static struct {
    stage_t stage;
    uint8_t address;
    uint8_t new_address; /* from the end of the status stage on */
    bool configured;
    bool halted[2]; /* USB_FROM_HOST, USB_TO_HOST */
    bool notices_halted;
    bool ends_short; /* the last packet must be shorter than a full one */
    const uint8_t *answer;
    uint16_t left; /* bytes of the answer that are still to be sent */
    uint8_t room[USB_DESCRIPTOR_ROOM];
} device;

static const uint8_t endpoints[] = {USB_FROM_HOST, USB_TO_HOST, USB_NOTICES};

static bool *halt_of(uint16_t endpoint) {
    switch (endpoint) {
    case USB_FROM_HOST: return &device.halted[0];
    case USB_TO_HOST: return &device.halted[1];
    case USB_NOTICES: return &device.notices_halted;
    default: return NULL;
    }
}

static void configure(bool configured) {
    usb_close_endpoints();
    serial_function_close();
    device.configured = configured;
    for (size_t i = 0; i < sizeof endpoints; i++) {
        *halt_of(endpoints[i]) = false;
    }
    if (configured) {
        usb_open_endpoints();
        serial_function_open();
    }
}

/* Whether the request can be answered with bytes, which are then in device.answer and device.left. */
static bool answer(const uint8_t *bytes, uint16_t n) {
    device.answer = bytes;
    device.left = n;
    return bytes != NULL;
}

static bool answer_byte(uint8_t byte, uint16_t n) {
    device.room[0] = byte;
    device.room[1] = 0;
    return answer(device.room, n);
}

static bool is_interface(const setup_t *setup) {
    return device.configured && setup->index <= USB_DATA_INTERFACE;
}

static bool is_control(uint16_t endpoint) {
    return endpoint == USB_CONTROL_OUT || endpoint == USB_CONTROL_IN;
}

static bool endpoint_status(const setup_t *setup) {
    if (is_control(setup->index)) {
        return answer_byte(0, 2);
    }
    const bool *halted = halt_of(setup->index);
    return device.configured && halted != NULL && answer_byte(*halted, 2);
}

/* Requests with an answer. */
static bool get(const setup_t *setup) {
    switch (REQUEST(setup->type & ~(unsigned)USB_DIRECTION_IN, setup->request)) {
    case REQUEST(TO_DEVICE, GET_STATUS): return answer_byte(0, 2); /* fed by the bus, cannot wake the host */
    case REQUEST(TO_INTERFACE, GET_STATUS): return is_interface(setup) && answer_byte(0, 2);
    case REQUEST(TO_ENDPOINT, GET_STATUS): return endpoint_status(setup);
    case REQUEST(TO_DEVICE, GET_DESCRIPTOR): {
        const usb_descriptor_t found = usb_descriptor(setup->value, device.room);
        return answer(found.bytes, found.n);
    }
    case REQUEST(TO_DEVICE, GET_CONFIGURATION): return answer_byte(device.configured ? USB_CONFIGURATION : 0, 1);
    case REQUEST(TO_INTERFACE, GET_INTERFACE): return is_interface(setup) && answer_byte(0, 1);
    case REQUEST(TO_INTERFACE | OF_CLASS, GET_LINE_CODING):
        return is_interface(setup) && answer(serial_function_line_coding(), LINE_CODING_SIZE);
    default: return false;
    }
}

static bool set_halt(const setup_t *setup, bool on) {
    if (setup->value != ENDPOINT_HALT) {
        return false;
    }
    if (is_control(setup->index)) {
        return true; /* it is never halted (9.4.5) */
    }
    bool *halted = halt_of(setup->index);
    if (!device.configured || halted == NULL) {
        return false;
    }
    if (on) {
        usb_stall((uint8_t)setup->index);
    } else {
        usb_end_stall((uint8_t)setup->index);
    }
    *halted = on;
    return true;
}

static bool set_address(const setup_t *setup) {
    if (setup->value > LAST_ADDRESS || device.configured) {
        return false;
    }
    device.new_address = (uint8_t)setup->value;
    return true;
}

static bool set_configuration(const setup_t *setup) {
    if (setup->value > USB_CONFIGURATION || device.address == 0) {
        return false;
    }
    configure(setup->value == USB_CONFIGURATION);
    return true;
}

/* The only setting is the only choice; its endpoints begin again (9.1.1.5). */
static bool set_interface(const setup_t *setup) {
    if (!is_interface(setup) || setup->value != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof endpoints; i++) {
        if ((endpoints[i] == USB_NOTICES) == (setup->index == USB_SERIAL_INTERFACE)) {
            usb_end_stall(endpoints[i]);
            *halt_of(endpoints[i]) = false;
        }
    }
    return true;
}

static bool set_lines(const setup_t *setup) {
    if (!is_interface(setup) || setup->index != USB_SERIAL_INTERFACE) {
        return false;
    }
    serial_function_set_lines(setup->value);
    return true;
}

/* Requests without data. */
static bool carry_out(const setup_t *setup) {
    switch (REQUEST(setup->type, setup->request)) {
    case REQUEST(TO_ENDPOINT, CLEAR_FEATURE): return set_halt(setup, false);
    case REQUEST(TO_ENDPOINT, SET_FEATURE): return set_halt(setup, true);
    case REQUEST(TO_DEVICE, SET_ADDRESS): return set_address(setup);
    case REQUEST(TO_DEVICE, SET_CONFIGURATION): return set_configuration(setup);
    case REQUEST(TO_INTERFACE, SET_INTERFACE): return set_interface(setup);
    case REQUEST(TO_INTERFACE | OF_CLASS, SET_CONTROL_LINE_STATE): return set_lines(setup);
    default: return false;
    }
}

/* Requests with data from the host: one. */
static bool may_take(const setup_t *setup) {
    return REQUEST(setup->type, setup->request) == REQUEST(TO_INTERFACE | OF_CLASS, SET_LINE_CODING) &&
           is_interface(setup) && setup->index == USB_SERIAL_INTERFACE && setup->length == LINE_CODING_SIZE;
}

static void refuse(void) {
    device.stage = IDLE;
    usb_stall(USB_CONTROL_IN);
    usb_stall(USB_CONTROL_OUT);
}

static void acknowledge(void) {
    device.stage = STATUS_IN;
    usb_send(USB_CONTROL_IN, NULL, 0);
}

static void send_answer(void) {
    const uint16_t n = device.left < USB_PACKET ? device.left : USB_PACKET;
    const uint8_t *from = device.answer;
    device.answer += n;
    device.left = (uint16_t)(device.left - n);
    device.ends_short = device.ends_short && n == USB_PACKET;
    usb_send(USB_CONTROL_IN, from, n);
}

/* The host may end the data stage when it likes, with the status stage (8.5.3.1): that is taken from the first packet
   of the answer on. */
static void begin_answer(uint16_t wanted) {
    device.ends_short = device.left < wanted;
    device.left = device.ends_short ? device.left : wanted;
    device.stage = DATA_IN;
    send_answer();
    usb_take(USB_CONTROL_OUT);
}

void usb_setup_received(const uint8_t packet[8]) {
    const setup_t setup = {
        .type = packet[0],
        .request = packet[1],
        .value = (uint16_t)(packet[2] | packet[3] << 8),
        .index = (uint16_t)(packet[4] | packet[5] << 8),
        .length = (uint16_t)(packet[6] | packet[7] << 8),
    };
    device.stage = IDLE;
    device.new_address = device.address;
    if ((setup.type & USB_DIRECTION_IN) != 0) {
        if (!get(&setup)) {
            refuse();
        } else if (setup.length == 0) {
            acknowledge();
        } else {
            begin_answer(setup.length);
        }
    } else if (setup.length > 0) {
        if (may_take(&setup)) {
            device.stage = DATA_OUT;
            usb_take(USB_CONTROL_OUT);
        } else {
            refuse();
        }
    } else if (carry_out(&setup)) {
        acknowledge();
    } else {
        refuse();
    }
}

static void control_was_sent(void) {
    if (device.stage == DATA_IN && (device.left > 0 || device.ends_short)) {
        send_answer();
    } else if (device.stage == STATUS_IN) {
        device.stage = IDLE;
        if (device.new_address != device.address) {
            device.address = device.new_address;
            usb_set_address(device.address);
        }
        serial_function_after_request();
    }
}

static void control_was_received(const volatile uint8_t *bytes, size_t n) {
    if (device.stage == DATA_OUT && n == LINE_CODING_SIZE) {
        serial_function_set_line_coding(bytes);
        acknowledge();
    } else if (device.stage == DATA_IN && n == 0) {
        device.stage = IDLE;
    } else {
        refuse();
    }
}

void usb_was_sent(uint8_t endpoint) {
    if (endpoint == USB_CONTROL_IN) {
        control_was_sent();
    } else if (endpoint == USB_TO_HOST) {
        serial_function_sent();
    }
}

void usb_was_received(uint8_t endpoint, const volatile uint8_t *bytes, size_t n) {
    if (endpoint == USB_CONTROL_OUT) {
        control_was_received(bytes, n);
    } else {
        serial_function_received(bytes, n);
    }
}

void usb_was_reset(void) {
    device.stage = IDLE;
    device.address = 0;
    device.new_address = 0;
    configure(false);
    usb_set_address(0);
}

/* A host that sleeps reads nothing. */
void usb_was_suspended(void) {
    serial_function_hushed();
}
