/* The USB device controller (RP2040 data sheet, 4.1). It answers at an endpoint from the endpoint's word in its RAM,
   one buffer each: DATA0 or DATA1, which the program alternates, the length, and AVAILABLE. The block and its clock are
   in reset while no cable brings 5 V. */
#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "rp2040.h"
#include "usb.h"

/* Places of an endpoint's words and flags: OUT behind IN (4.1.2.3, 4.1.2.4). */
#define INDEX(address) (2u * ((address) & 0xFu) + ((address) & USB_DIRECTION_IN ? 0u : 1u))
#define BIT(index) (1u << (index))

enum {
    CONTROL_IN = INDEX(USB_CONTROL_IN),
    CONTROL_OUT = INDEX(USB_CONTROL_OUT),
    NOTICES = INDEX(USB_NOTICES),
    TO_HOST = INDEX(USB_TO_HOST),
    FROM_HOST = INDEX(USB_FROM_HOST),
    INDICES,
    ID_SIZE = 8,
    VBUS_PIN = 24, /* high while a cable brings 5 V (Raspberry Pi Pico data sheet, 2.1, VBUS sense) */

    /* Errata RP2040-E15, as the Pico SDK and its USB stack get round it: a packet to the host is made available in the
       first 800 us of a frame only. A late one can end in a hub's babble, and hang the controller. */
    FRAME_US = 1000,
    LATE_US = 780,
    B2 = 2,             /* the first revision whose EP_ABORT ends (errata RP2040-E2) */
    ABORT_POLLS = 1000, /* more than a packet takes */
    KNOWN_US = 20000,   /* how long a start of frame foretells the next ones: both crystals are 0.05 % wrong at most */
};

static struct {
    bool on;
    bool aborts;
    bool waiting; /* a packet to the host waits for the next frame */
    bool frame_is_known;
    uint32_t frame_at; /* us */
    uint8_t data1;     /* by index: the next packet is DATA1 */
    uint8_t stalled;
    uint8_t armed; /* to be sent or taken, also while the endpoint is stalled */
    uint8_t length[INDICES];
    bool is_numbered;
    uint8_t number[ID_SIZE];
} usb;

static uint32_t offset(uint32_t index) {
    return index <= CONTROL_OUT ? USB_CONTROL_BUFFER : USB_BUFFERS + USB_PACKET * (index - NOTICES);
}

static volatile uint8_t *buffer(uint32_t index) {
    return (volatile uint8_t *)(uintptr_t)(USB_RAM + offset(index));
}

/* Whether a packet to the host may be made available now; if not, the next frame does it. */
static bool frame_is_young(void) {
    const uint32_t age = TIMER_TIMERAWL - usb.frame_at;
    if (usb.frame_is_known && age < KNOWN_US && age % FRAME_US < LATE_US) {
        return true;
    }
    (void)USB_SOF_RD; /* forgets a start of frame that is over */
    ATOMIC_SET(USB_INTE) = USB_INT_DEV_SOF;
    return false;
}

/* AVAILABLE comes after the rest, by more than a cycle of the controller's 48 MHz (4.1.2.5.1). */
static void make_available(uint32_t index) {
    const uint32_t data = (usb.data1 & BIT(index)) != 0 ? USB_BUFFER_DATA1 : 0;
    const uint32_t full = index % 2u == 0 ? USB_BUFFER_FULL : 0;
    const uint32_t word = usb.length[index] | data | full;
    USB_BUFFER_CONTROL(index) = word;
    __asm volatile("nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop" ::: "memory");
    USB_BUFFER_CONTROL(index) = word | USB_BUFFER_AVAILABLE;
}

static void arm(uint32_t index) {
    usb.armed |= (uint8_t)BIT(index);
    if ((usb.stalled & BIT(index)) != 0) {
        return;
    }
    if (index == TO_HOST && !frame_is_young()) {
        usb.waiting = true;
        return;
    }
    make_available(index);
}

/* A word that is AVAILABLE changes only once the controller has let it go (4.1.2.5.3). On a chip that cannot be asked
   for that, the word is changed between two packets, or in one, which the host then repeats. */
static void take_back(uint32_t index, uint32_t word) {
    const bool busy = usb.aborts && (USB_BUFFER_CONTROL(index) & USB_BUFFER_AVAILABLE) != 0;
    if (busy) {
        ATOMIC_SET(USB_EP_ABORT) = BIT(index);
        (void)wait_until(&USB_EP_ABORT_DONE, BIT(index), BIT(index), ABORT_POLLS);
    }
    USB_BUFFER_CONTROL(index) = word;
    if (busy) {
        USB_EP_ABORT_DONE = BIT(index);
        ATOMIC_CLEAR(USB_EP_ABORT) = BIT(index);
    }
}

static void disarm(uint32_t index) {
    take_back(index, 0);
    usb.armed &= (uint8_t)~BIT(index);
    usb.stalled &= (uint8_t)~BIT(index);
    usb.waiting = usb.waiting && index != TO_HOST;
}

void usb_send(uint8_t endpoint, const uint8_t *bytes, size_t n) {
    const uint32_t index = INDEX(endpoint);
    volatile uint8_t *to = buffer(index);
    for (size_t i = 0; i < n; i++) {
        to[i] = bytes[i];
    }
    usb.length[index] = (uint8_t)n;
    arm(index);
}

void usb_take(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    usb.length[index] = USB_PACKET;
    arm(index);
}

void usb_stall(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    usb.stalled |= (uint8_t)BIT(index);
    usb.waiting = usb.waiting && index != TO_HOST;
    if (index <= CONTROL_OUT) {
        ATOMIC_SET(USB_EP_STALL_ARM) = BIT(index);
    }
    take_back(index, USB_BUFFER_STALL);
}

void usb_end_stall(uint8_t endpoint) {
    const uint32_t index = INDEX(endpoint);
    const bool armed = (usb.armed & BIT(index)) != 0;
    disarm(index);
    usb.data1 &= (uint8_t)~BIT(index);
    if (armed) {
        arm(index);
    }
}

static void open(uint32_t index, uint32_t kind) {
    disarm(index);
    usb.data1 &= (uint8_t)~BIT(index);
    USB_EP_CONTROL(index) = USB_EP_ENABLE | USB_EP_INTERRUPT_PER_BUFFER | kind | offset(index);
}

void usb_open_endpoints(void) {
    open(NOTICES, USB_EP_INTERRUPT);
    open(TO_HOST, USB_EP_BULK);
    open(FROM_HOST, USB_EP_BULK);
}

void usb_close_endpoints(void) {
    for (uint32_t index = NOTICES; index < INDICES; index++) {
        disarm(index);
        USB_EP_CONTROL(index) = 0;
    }
}

void usb_set_address(uint8_t address) {
    USB_ADDR_ENDP = address;
}

size_t usb_bulk_packet(void) {
    return USB_PACKET;
}

bool usb_is_on(void) {
    return usb.on;
}

const uint8_t *usb_serial_number(size_t *n) {
    *n = usb.is_numbered ? sizeof usb.number : 0;
    return usb.number;
}

static void done(uint32_t index) {
    const uint32_t n = USB_BUFFER_CONTROL(index) & USB_BUFFER_LENGTH;
    usb.armed &= (uint8_t)~BIT(index);
    usb.data1 ^= (uint8_t)BIT(index);
    const uint8_t endpoint = (uint8_t)(index / 2u | (index % 2u == 0 ? USB_DIRECTION_IN : 0));
    if (index % 2u == 0) {
        usb_was_sent(endpoint);
    } else {
        usb_was_received(endpoint, buffer(index), n);
    }
}

/* IN before OUT of the same endpoint: the last packet of an answer before the status stage that follows it. One that is
   no longer armed was on its way when a SETUP, a stall or a reset took it back. */
static void buffers_done(void) {
    const uint32_t status = USB_BUFF_STATUS;
    USB_BUFF_STATUS = status;
    for (uint32_t index = 0; index < INDICES; index++) {
        if ((status & usb.armed & BIT(index)) != 0) {
            done(index);
        }
    }
}

static void setup_received(void) {
    uint8_t packet[8];
    USB_SIE_STATUS = USB_SIE_STATUS_SETUP_REC;
    for (size_t i = 0; i < sizeof packet; i++) {
        packet[i] = *(volatile uint8_t *)(uintptr_t)(USB_RAM + i);
    }
    ATOMIC_CLEAR(USB_EP_STALL_ARM) = BIT(CONTROL_IN) | BIT(CONTROL_OUT);
    disarm(CONTROL_IN);
    disarm(CONTROL_OUT);
    usb.data1 |= BIT(CONTROL_IN) | BIT(CONTROL_OUT);
    usb_setup_received(packet);
}

static void frame_begins(void) {
    (void)USB_SOF_RD; /* ends the interrupt */
    usb.frame_at = TIMER_TIMERAWL;
    usb.frame_is_known = true;
    if (usb.waiting) {
        usb.waiting = false;
        make_available(TO_HOST);
    } else {
        ATOMIC_CLEAR(USB_INTE) = USB_INT_DEV_SOF;
    }
}

static void bus_was_reset(void) {
    USB_SIE_STATUS = USB_SIE_STATUS_BUS_RESET;
    USB_BUFF_STATUS = ~0u;
    disarm(CONTROL_IN);
    disarm(CONTROL_OUT);
    usb.frame_is_known = false;
    usb_was_reset();
}

/* In the order in which they can have happened: what follows a reset or a completed packet is a SETUP. */
void usb_handler(void) {
    const uint32_t status = USB_INTS;
    if ((status & USB_INT_BUS_RESET) != 0) {
        bus_was_reset();
    } else if ((status & USB_INT_BUFF_STATUS) != 0) {
        buffers_done();
    }
    if ((status & USB_INT_SETUP_REQ) != 0) {
        setup_received();
    }
    if ((status & USB_INT_DEV_SUSPEND) != 0) {
        USB_SIE_STATUS = USB_SIE_STATUS_SUSPENDED;
        usb.frame_is_known = false;
        usb_was_suspended();
    }
    if ((status & USB_INT_DEV_SOF) != 0) {
        frame_begins();
    }
}

static void read_revision(void) {
    ATOMIC_CLEAR(RESETS_RESET) = RESETS_SYSINFO;
    while ((RESETS_DONE & RESETS_SYSINFO) == 0) {
    }
    usb.aborts = (SYSINFO_CHIP_ID & SYSINFO_CHIP_ID_REVISION) >= (uint32_t)B2 << 28;
    ATOMIC_SET(RESETS_RESET) = RESETS_SYSINFO;
}

static void start(void) {
    usb.is_numbered = usb.is_numbered || flash_unique_id(usb.number);
    read_revision();
    usb_clock_start();
    ATOMIC_CLEAR(RESETS_RESET) = RESETS_USBCTRL;
    while ((RESETS_DONE & RESETS_USBCTRL) == 0) {
    }
    for (uint32_t at = 0; at < USB_CONTROL_BUFFER; at += 4) {
        REGISTER(USB_RAM + at) = 0;
    }
    usb.on = true;
    usb_was_reset();
    USB_MUXING = USB_MUXING_TO_PHY | USB_MUXING_SOFTCON;
    USB_PWR = USB_PWR_VBUS_DETECT | USB_PWR_VBUS_DETECT_OVERRIDE_EN;
    USB_MAIN_CTRL = USB_MAIN_CTRL_CONTROLLER_EN;
    REGISTER(USB_SIE_CTRL) = USB_SIE_CTRL_EP0_INT_1BUF;
    REGISTER(USB_INTE) = USB_INT_BUFF_STATUS | USB_INT_BUS_RESET | USB_INT_DEV_SUSPEND | USB_INT_SETUP_REQ;
    NVIC_ISER(USB_IRQ) = NVIC_BIT(USB_IRQ);
    ATOMIC_SET(USB_SIE_CTRL) = USB_SIE_CTRL_PULLUP_EN;
}

static void stop(void) {
    usb_was_reset();
    usb.on = false;
    ATOMIC_SET(RESETS_RESET) = RESETS_USBCTRL;
    NVIC_ICPR(USB_IRQ) = NVIC_BIT(USB_IRQ); /* its handler would read a block that is in reset */
    usb_clock_stop();
}

static void follow_cable(void) {
    const bool wanted = (SIO_IN & 1u << VBUS_PIN) != 0;
    if (wanted != usb.on) {
        (wanted ? start : stop)();
    }
}

/* Edges before the level: one that comes meanwhile interrupts again. */
void cable_handler(void) {
    GPIO24_INTERRUPTS = GPIO24_EDGES;
    follow_cable();
}

void usb_start(void) {
    GPIO24_INTERRUPTS = GPIO24_EDGES;
    GPIO24_INTERRUPTS_ENABLED = GPIO24_EDGES;
    NVIC_ISER(GPIO_IRQ) = NVIC_BIT(GPIO_IRQ);
    interrupts_mask();
    follow_cable();
    interrupts_unmask();
}
