/* The USB controller in device mode, at high speed or at full speed (IMXRT1060RM, USB: device data structures, device
   operational model; read in excerpts, and in the drivers that cite it: docs/boards.md). Each endpoint and direction
   has a queue head and a list of transfers, one packet each, that the controller carries out by its DMA.

   All that the DMA touches is in DTCM: no cache holds it, so neither side ever sees old bytes, and nothing is cleaned
   or invalidated. The DMA reaches it through the core's platform, as that of the UART does (clock.c; PJRC's core has
   its queue heads there too). */
#include "usb.h"

#include <string.h>

#include "agent/port.h"
#include "board.h"
#include "imxrt1062.h"

/* A transfer (dTD) and a queue head (dQH), as the controller reads and writes them. */
typedef struct {
    volatile uint32_t next, token, page[5], unused;
} transfer_t;

typedef struct {
    volatile uint32_t capabilities, current, next, token, page[5], reserved, setup[2], unused[4];
} head_t;

_Static_assert(sizeof(transfer_t) == 32 && sizeof(head_t) == 64, "as the controller has them");

#define HEAD_PACKET(bytes) ((uint32_t)(bytes) << 16)
#define HEAD_NO_EMPTY_PACKETS (1u << 29) /* of its own accord, at the end of a transfer */
#define HEAD_INTERRUPT_ON_SETUP (1u << 15)
#define TOKEN_ACTIVE (1u << 7)
#define TOKEN_INTERRUPT (1u << 15)
#define TOKEN_BYTES(n) ((uint32_t)(n) << 16) /* that are left to be sent or taken */
#define TOKEN_BYTES_LEFT(token) ((token) >> 16 & 0x7FFFu)
#define LAST 1u /* in the place of the address of a next transfer */

/* Queue heads lie as OUT, IN of endpoint 0, OUT, IN of endpoint 1... */
#define INDEX(address) (2u * ((address) & 0xFu) + ((address) & USB_DIRECTION_IN ? 1u : 0u))
#define IS_IN(index) ((index) % 2u == 1)
#define BIT(index) (1u << ((index) / 2u + (IS_IN(index) ? 16u : 0u))) /* in ENDPTPRIME, -FLUSH, -STAT, -COMPLETE */
#define SIDE(index, bits) (IS_IN(index) ? (uint32_t)(bits) << 16 : (uint32_t)(bits)) /* in ENDPTCTRL */

enum {
    CONTROL_OUT = INDEX(USB_CONTROL_OUT),
    CONTROL_IN = INDEX(USB_CONTROL_IN),
    NOTICES = INDEX(USB_NOTICES),
    FROM_HOST = INDEX(USB_FROM_HOST),
    TO_HOST = INDEX(USB_TO_HOST),
    HEADS,
    PACKETS = BOARD_USB_PACKETS,
    POLLS = 10000,   /* more than a packet takes at full speed: a flush waits for its end */
    FLUSHES = 8,     /* a packet under way may refuse one */
    DETACHED_MS = 2, /* that a hub needs to see a device go, at high speed from two microframes (7.1.7.3) */
};

typedef struct {
    uint8_t count; /* transfers of the list */
    uint8_t done;  /* of them, those that are over and passed on */
    bool wanted;   /* usb_take() was called, and nothing passed on since */
    bool stalled;
    uint16_t packet; /* bytes of a full one */
} queue_t;

static head_t heads[HEADS] __attribute__((section(".dma"), aligned(2048)));
static transfer_t transfers[HEADS][PACKETS] __attribute__((section(".dma"), aligned(32)));
static uint8_t bulk[2][PACKETS][USB_FAST_PACKET] __attribute__((section(".dma"), aligned(32)));
static uint8_t control[2][USB_PACKET] __attribute__((section(".dma"), aligned(32)));

static struct {
    bool on; /* a cable is there */
    queue_t queues[HEADS];
} usb;

static uint32_t address_of(const volatile void *at) {
    return (uint32_t)(uintptr_t)at;
}

static uint8_t *buffer(uint32_t index, uint32_t i) {
    return index <= CONTROL_IN ? control[index] : bulk[index - FROM_HOST][i];
}

static bool is_over(uint32_t index, uint32_t i) {
    return (transfers[index][i].token & TOKEN_ACTIVE) == 0;
}

static void describe(uint32_t index, uint32_t i, size_t n, bool last) {
    transfer_t *one = &transfers[index][i];
    const uint32_t at = address_of(buffer(index, i));
    one->next = last ? LAST : address_of(one + 1);
    one->page[0] = at;
    one->page[1] = (at & ~0xFFFu) + 0x1000u;
    one->token = TOKEN_BYTES(n) | TOKEN_ACTIVE | (last || !IS_IN(index) ? TOKEN_INTERRUPT : 0);
}

/* From the first transfer on that is not over. What an earlier list left in the head is void. */
static void prime(uint32_t index) {
    const queue_t *queue = &usb.queues[index];
    uint32_t i = queue->done;
    while (i < queue->count && is_over(index, i)) {
        i++;
    }
    if (queue->stalled || i == queue->count) {
        return;
    }
    heads[index].next = address_of(&transfers[index][i]);
    heads[index].token = 0;
    barrier();
    USB1_ENDPTPRIME = BIT(index);
}

/* A packet under way is waited for; then the controller has nothing more. */
static void flush(uint32_t bits) {
    (void)wait_until(&USB1_ENDPTPRIME, bits, 0, POLLS);
    for (uint32_t tries = FLUSHES; tries > 0; tries--) {
        USB1_ENDPTFLUSH = bits;
        (void)wait_until(&USB1_ENDPTFLUSH, bits, 0, POLLS);
        if ((USB1_ENDPTSTAT & bits) == 0) {
            return;
        }
    }
}

static void disarm(uint32_t index) {
    queue_t *queue = &usb.queues[index];
    flush(BIT(index));
    queue->count = queue->done = 0;
    queue->wanted = queue->stalled = false;
}

static void arm(uint32_t index, uint32_t count) {
    usb.queues[index].count = (uint8_t)count;
    usb.queues[index].done = 0;
    prime(index);
}

void usb_send(uint8_t endpoint, const uint8_t *bytes, size_t n) {
    const uint32_t index = INDEX(endpoint);
    const size_t packet = usb.queues[index].packet;
    uint32_t count = 0;
    do {
        const size_t part = n < packet ? n : packet;
        if (part > 0) {
            memcpy(buffer(index, count), bytes, part);
            bytes += part;
            n -= part;
        }
        describe(index, count, part, n == 0);
        count++;
    } while (n > 0);
    arm(index, count);
}

/* Several packets are taken ahead, each for one call: the host need not wait for the handler. One that is here already
   is passed on by the handler, not from here. */
void usb_take(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    queue_t *queue = &usb.queues[index];
    const uint32_t count = index == FROM_HOST ? PACKETS : 1;
    queue->wanted = true;
    if (queue->done < queue->count) {
        if (is_over(index, queue->done)) {
            NVIC_ISPR(USB_IRQ) = NVIC_BIT(USB_IRQ);
        }
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        describe(index, i, queue->packet, i == count - 1);
    }
    arm(index, count);
}

/* At the control endpoint, the next SETUP ends it without the program. */
void usb_stall(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    usb.queues[index].stalled = true;
    USB1_ENDPTCTRL(index / 2u) |= SIDE(index, ENDPTCTRL_STALL);
    flush(BIT(index));
}

void usb_end_stall(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    volatile uint32_t *endpoint_control = &USB1_ENDPTCTRL(index / 2u);
    flush(BIT(index));
    modify(endpoint_control, SIDE(index, ENDPTCTRL_STALL), SIDE(index, ENDPTCTRL_RESET_TOGGLE));
    usb.queues[index].stalled = false;
    prime(index);
}

static void open(uint32_t index, size_t packet) {
    disarm(index);
    usb.queues[index].packet = (uint16_t)packet;
    memset((void *)(uintptr_t)&heads[index], 0, sizeof heads[index]);
    heads[index].capabilities =
        HEAD_PACKET(packet) | HEAD_NO_EMPTY_PACKETS | (index == CONTROL_OUT ? HEAD_INTERRUPT_ON_SETUP : 0);
    heads[index].next = LAST;
}

/* An unused direction must not have the type of a control endpoint, which it has after a reset: the toggle of the other
   one would be undefined (endpoint initialization). */
void usb_open_endpoints(void) {
    open(NOTICES, USB_PACKET);
    open(FROM_HOST, usb_bulk_packet());
    open(TO_HOST, usb_bulk_packet());
    USB1_ENDPTCTRL(1u) = SIDE(NOTICES, ENDPTCTRL_INTERRUPT | ENDPTCTRL_ENABLE | ENDPTCTRL_RESET_TOGGLE) |
                         SIDE(NOTICES - 1u, ENDPTCTRL_BULK);
    USB1_ENDPTCTRL(2u) = SIDE(FROM_HOST, ENDPTCTRL_BULK | ENDPTCTRL_ENABLE | ENDPTCTRL_RESET_TOGGLE) |
                         SIDE(TO_HOST, ENDPTCTRL_BULK | ENDPTCTRL_ENABLE | ENDPTCTRL_RESET_TOGGLE);
}

void usb_close_endpoints(void) {
    for (uint32_t number = 1; number < HEADS / 2u; number++) {
        disarm(2u * number);
        disarm(2u * number + 1u);
        USB1_ENDPTCTRL(number) = ENDPTCTRL_BULK | ENDPTCTRL_BULK << 16;
    }
}

void usb_set_address(uint8_t address) {
    USB1_DEVICEADDR = DEVICEADDR_ADDRESS((uint32_t)address);
}

size_t usb_bulk_packet(void) {
    return (USB1_PORTSC1 & PORTSC1_HSP) != 0 ? USB_FAST_PACKET : USB_PACKET;
}

bool usb_is_on(void) {
    return usb.on;
}

static void send_done(uint32_t index) {
    queue_t *queue = &usb.queues[index];
    if (queue->count > 0 && is_over(index, queue->count - 1u)) {
        queue->count = 0;
        usb_was_sent((uint8_t)(index / 2u | USB_DIRECTION_IN));
    }
}

/* Bytes that the DMA lost are noticed by the frame's CRC. */
static void take_done(uint32_t index) {
    queue_t *queue = &usb.queues[index];
    while (queue->wanted && queue->done < queue->count && is_over(index, queue->done)) {
        const uint32_t i = queue->done++;
        queue->wanted = false;
        usb_was_received((uint8_t)(index / 2u), buffer(index, i),
                         queue->packet - TOKEN_BYTES_LEFT(transfers[index][i].token));
    }
}

/* IN before OUT of the same endpoint: the last packet of an answer before the status stage that follows it. */
static void transfers_done(void) {
    USB1_ENDPTCOMPLETE = USB1_ENDPTCOMPLETE;
    send_done(CONTROL_IN);
    take_done(CONTROL_OUT);
    send_done(TO_HOST);
    take_done(FROM_HOST);
}

/* SUTW falls when another SETUP arrives while this one is read. */
static void setup_received(void) {
    uint32_t packet[2];
    do {
        USB1_ENDPTSETUPSTAT = BIT(CONTROL_OUT);
        USB1_USBCMD |= USBCMD_SUTW;
        packet[0] = heads[CONTROL_OUT].setup[0];
        packet[1] = heads[CONTROL_OUT].setup[1];
    } while ((USB1_USBCMD & USBCMD_SUTW) == 0);
    USB1_USBCMD &= ~USBCMD_SUTW;
    disarm(CONTROL_OUT);
    disarm(CONTROL_IN);
    usb_setup_received((const uint8_t *)packet);
}

static void forget_bus(void) {
    USB1_ENDPTSETUPSTAT = USB1_ENDPTSETUPSTAT;
    USB1_ENDPTCOMPLETE = USB1_ENDPTCOMPLETE;
    flush(~0u);
    open(CONTROL_OUT, USB_PACKET);
    open(CONTROL_IN, USB_PACKET);
    usb_was_reset();
}

static void follow_cable(void) {
    USB1_OTGSC = (USB1_OTGSC & ~OTGSC_EVENTS) | OTGSC_BSVIS;
    const bool wanted = (USB1_OTGSC & OTGSC_BSV) != 0;
    if (wanted != usb.on) {
        usb.on = wanted;
        forget_bus();
        modify(&USB1_USBCMD, USBCMD_RS, wanted ? USBCMD_RS : 0);
    }
}

/* From a reset of the controller on, which must find it off the bus; its mode comes first after that. An earlier program
   may have left it on (USBCMD, RST). */
static void restart(void) {
    if ((USB1_USBCMD & USBCMD_RS) != 0) {
        const uint32_t since = port_cycles();
        flush(~0u);
        USB1_USBCMD &= ~USBCMD_RS;
        while (port_cycles() - since < port_clock_hz() / 1000u * DETACHED_MS) {
        }
    }
    USB1_USBCMD |= USBCMD_RST;
    (void)wait_until(&USB1_USBCMD, USBCMD_RST, 0, POLLS);
    USB1_USBMODE = USBMODE_DEVICE | USBMODE_SLOM;
    usb.on = false;
    USB1_ENDPTLISTADDR = address_of(heads);
    forget_bus();
    USB1_USBINTR = USB_INT_TRANSFER | USB_INT_ERROR | USB_INT_RESET | USB_INT_SUSPEND;
    USB1_OTGSC = (USB1_OTGSC & ~OTGSC_EVENTS) | OTGSC_BSVIE | OTGSC_OT;
    follow_cable();
}

/* The end of the bus's reset must not come before that of this: else the controller is undefined, and only its own reset
   helps (device operational model, bus reset). */
static void bus_was_reset(void) {
    forget_bus();
    if ((USB1_PORTSC1 & PORTSC1_PR) == 0) {
        restart();
    }
}

/* In the order in which they can have happened: what follows a completed transfer is a SETUP. */
void usb_handler(void) {
    const uint32_t status = USB1_USBSTS & USB1_USBINTR;
    USB1_USBSTS = status;
    if ((USB1_OTGSC & OTGSC_BSVIS) != 0) {
        follow_cable();
    }
    if ((status & USB_INT_RESET) != 0) {
        bus_was_reset();
    }
    const uint32_t setup = USB1_ENDPTSETUPSTAT;
    transfers_done();
    if (setup != 0) {
        setup_received();
    }
    if ((status & USB_INT_SUSPEND) != 0) {
        usb_was_suspended();
    }
}

void usb_start(void) {
    usb_set_up();
    restart();
    NVIC_ISER(USB_IRQ) = NVIC_BIT(USB_IRQ);
}

void usb_leave(void) {
    USB1_USBCMD = 0;
}
