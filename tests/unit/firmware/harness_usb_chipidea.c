/* The USB controller of i.MX RT1062 in device mode, as far as its driver uses it: registers with their effects, queue
   heads and transfers that a DMA reads and writes (IMXRT1060RM, USB: device data structures, device operational model).

   usb.c is compiled with calls before every volatile access (-fsanitize=thread, without its library). The registers are
   memory at their addresses; what a write does is done at the next access, or when the driver has returned. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/port.h"
#include "board.h"
#include "harness_usb.h"
#include "usb.h"

enum {
    ENDPOINTS = 8,
    USB_INT_PORT_CHANGE = 1 << 2,
    ACTIVE = 1 << 7,
    STORM = 20, /* interrupts without anything new from the host */
    LAST_TRANSFER = 1,
};

typedef struct {
    uint32_t next, token, page[5], unused;
} transfer_t;

typedef struct {
    uint32_t capabilities, current, next, token, page[5], reserved, setup[2], unused[4];
} head_t;

static struct {
    uint32_t usbcmd, usbsts, usbintr, deviceaddr, list, portsc1, otgsc, mode, setups, ready, complete;
    uint32_t control[ENDPOINTS];
    bool data1[ENDPOINTS][2];
    bool phy_runs, supplied, pll_on;
    bool fast, late;           /* what the next reset of the bus is */
    bool undefined;            /* until a reset of the controller: one of the bus was not handled in time */
    bool refuses_flush;        /* the first time, as a packet is under way */
    const uint8_t *interferes; /* a SETUP that comes while one is read */
} chip;

static volatile uint32_t *written; /* by an access whose effect is still to come */

#define CELL(address) (*(volatile uint32_t *)(uintptr_t)(address))

static uint32_t at(const volatile uint32_t *reg) {
    return (uint32_t)(uintptr_t)reg;
}

static head_t *head_of(unsigned number, unsigned in) {
    return (head_t *)(uintptr_t)(chip.list + sizeof(head_t) * (2 * number + in));
}

static transfer_t *transfer_at(uint32_t address) {
    must(address % 32 == 0, "has a transfer that is not aligned");
    return (transfer_t *)(uintptr_t)address;
}

static uint32_t bit(unsigned number, unsigned in) {
    return 1u << (number + 16 * in);
}

static uint32_t side(unsigned number, unsigned in) {
    return chip.control[number] >> (16 * in) & 0xFFFFu;
}

/* The transfer becomes the head's, if there is one that is active. */
static void load(unsigned number, unsigned in, uint32_t address) {
    chip.ready &= ~bit(number, in);
    if ((address & LAST_TRANSFER) != 0 || (transfer_at(address)->token & ACTIVE) == 0) {
        return;
    }
    head_t *head = head_of(number, in);
    head->current = address;
    head->token = transfer_at(address)->token;
    head->next = transfer_at(address)->next;
    chip.ready |= bit(number, in);
}

static void prime(uint32_t bits) {
    for (unsigned i = 0; i < 2 * ENDPOINTS; i++) {
        const unsigned number = i / 2, in = i % 2;
        if ((bits & bit(number, in)) == 0 || (number == 0 && chip.setups != 0)) {
            continue;
        }
        must((chip.ready & bit(number, in)) == 0, "primes what is primed");
        must((side(number, in) & ENDPTCTRL_ENABLE) != 0, "primes an endpoint that is off");
        must((head_of(number, in)->token & (ACTIVE | 1u << 6)) == 0, "primes a head with an old token");
        must((head_of(number, in)->capabilities & 1u << 29) != 0, "lets the controller add empty packets");
        load(number, in, head_of(number, in)->next);
    }
}

/* All that a reset of the controller changes. The cable stays. */
static void controller_reset(void) {
    const uint32_t cable = chip.otgsc & OTGSC_BSV;
    chip.undefined = false;
    chip.usbcmd = 0x80000;
    chip.usbsts = chip.usbintr = chip.deviceaddr = chip.list = chip.setups = chip.ready = chip.complete = 0;
    chip.mode = 0x5000;
    chip.otgsc = 0x1120u | cable;
    chip.portsc1 = 0x10000000;
    memset(chip.control, 0, sizeof chip.control);
    chip.control[0] = 0x800080;
}

static void command_written(uint32_t value) {
    if ((value & USBCMD_RST) != 0) {
        must((chip.usbcmd & USBCMD_RS) == 0, "resets a controller that is on the bus");
        controller_reset();
        return;
    }
    if ((value & USBCMD_RS) != 0) {
        must((chip.mode & 3u) == 2 && (chip.mode & USBMODE_SLOM) != 0, "runs in no mode");
        must(chip.list % 2048 == 0 && chip.list != 0, "has its heads in a wrong place");
        must((chip.otgsc & OTGSC_BSV) != 0 || (chip.usbcmd & USBCMD_RS) != 0, "runs without a cable");
        must(chip.supplied && chip.pll_on, "has no supply or clock");
    }
    chip.usbcmd = value;
}

static void control_written(unsigned number, uint32_t value) {
    for (unsigned in = 0; in < 2; in++) {
        if ((value >> (16 * in) & ENDPTCTRL_RESET_TOGGLE) != 0) {
            chip.data1[number][in] = false;
        }
    }
    chip.control[number] = value & ~(ENDPTCTRL_RESET_TOGGLE | ENDPTCTRL_RESET_TOGGLE << 16);
    for (unsigned in = 0; number != 0 && in < 2; in++) {
        must((side(number, in) & ENDPTCTRL_ENABLE) != 0 || (side(number, in ^ 1u) & ENDPTCTRL_ENABLE) == 0 ||
                 (side(number, in) >> 2 & 3u) != 0,
             "leaves an unused direction of the type of a control endpoint");
    }
}

static void flush(uint32_t bits) {
    if (chip.refuses_flush) {
        chip.refuses_flush = false;
        return;
    }
    chip.ready &= ~bits;
}

static void put(volatile uint32_t *reg, uint32_t value) {
    if (reg == &USB1_USBCMD) {
        command_written(value);
    } else if (reg == &USB1_USBSTS) {
        chip.usbsts &= ~value;
    } else if (reg == &USB1_USBINTR) {
        chip.usbintr = value;
    } else if (reg == &USB1_DEVICEADDR) {
        chip.deviceaddr = value;
    } else if (reg == &USB1_ENDPTLISTADDR) {
        chip.list = value;
    } else if (reg == &USB1_OTGSC) {
        const uint32_t kept = (chip.otgsc & (OTGSC_BSV | OTGSC_EVENTS)) & ~(value & OTGSC_EVENTS);
        chip.otgsc = (value & ~(OTGSC_BSV | OTGSC_EVENTS)) | kept;
    } else if (reg == &USB1_USBMODE) {
        chip.mode = value;
    } else if (reg == &USB1_ENDPTSETUPSTAT) {
        chip.setups &= ~value;
    } else if (reg == &USB1_ENDPTPRIME) {
        prime(value);
    } else if (reg == &USB1_ENDPTFLUSH) {
        flush(value);
    } else if (reg == &USB1_ENDPTCOMPLETE) {
        chip.complete &= ~value;
    } else if (reg >= &USB1_ENDPTCTRL(0u) && reg < &USB1_ENDPTCTRL(8u)) {
        control_written((unsigned)(reg - &USB1_ENDPTCTRL(0u)), value);
    } else if (reg == &USBPHY1_CTRL_CLR) {
        chip.phy_runs = (value & USBPHY_CTRL_SFTRST) != 0 && (value & USBPHY_CTRL_CLKGATE) != 0;
    } else if (reg == &PMU_REG_3P0_SET) {
        chip.supplied |= (value & PMU_REG_3P0_ENABLE_LINREG) != 0;
    } else if (reg == &PLL_USB1_SET) {
        chip.pll_on |= (value & PLL_USB1_EN_USB_CLKS) != 0;
    }
}

static bool is_usb(uint32_t address) {
    return address >> 12 == 0x402E0;
}

static void settle(void) {
    volatile uint32_t *reg = written;
    written = NULL;
    if (reg != NULL) {
        put(reg, *reg);
    }
}

/* A SETUP: `again` if it comes while the buffer of the one before is read. */
static void setup_arrives(const uint8_t packet[8], bool again) {
    memcpy(head_of(0, 0)->setup, packet, 8);
    chip.setups |= 1;
    chip.usbsts |= USB_INT_TRANSFER;
    chip.control[0] &= ~(ENDPTCTRL_STALL | ENDPTCTRL_STALL << 16);
    chip.data1[0][0] = chip.data1[0][1] = true;
    if (again) {
        chip.usbcmd &= ~USBCMD_SUTW;
    }
}

static void show(void) {
    USB1_USBCMD = chip.usbcmd;
    USB1_USBSTS = chip.usbsts;
    USB1_USBINTR = chip.usbintr;
    USB1_DEVICEADDR = chip.deviceaddr;
    USB1_ENDPTLISTADDR = chip.list;
    USB1_PORTSC1 = chip.portsc1;
    USB1_OTGSC = chip.otgsc;
    USB1_USBMODE = chip.mode;
    USB1_ENDPTSETUPSTAT = chip.setups;
    USB1_ENDPTPRIME = USB1_ENDPTFLUSH = 0;
    USB1_ENDPTSTAT = chip.ready;
    USB1_ENDPTCOMPLETE = chip.complete;
    for (unsigned i = 0; i < ENDPOINTS; i++) {
        USB1_ENDPTCTRL(i) = chip.control[i];
    }
}

static void access(volatile void *address, bool writes) {
    const uint32_t where = at(address);
    settle();
    if (is_usb(where)) {
        must((CCM_CCGR6 & CCM_CCGR6_USB) == CCM_CCGR6_USB && chip.phy_runs, "asks a controller without a clock");
        show();
    }
    if (chip.interferes != NULL && chip.list != 0 && address == (volatile void *)&head_of(0, 0)->setup[1]) {
        const uint8_t *packet = chip.interferes;
        chip.interferes = NULL;
        setup_arrives(packet, true);
    }
    if (writes && where >> 20 >= 0x400 && where >> 20 <= 0x402) {
        written = address;
    }
}

/* What the compiler calls. */
void __tsan_volatile_read4(volatile void *address);
void __tsan_volatile_write4(volatile void *address);

void __tsan_volatile_read4(volatile void *address) {
    access(address, false);
}

void __tsan_volatile_write4(volatile void *address) {
    access(address, true);
}

#define IGNORED(name)                                                                                                  \
    void name(volatile void *address);                                                                                 \
    void name(volatile void *address) {                                                                                \
        (void)address;                                                                                                 \
    }
IGNORED(__tsan_read1)
IGNORED(__tsan_read2)
IGNORED(__tsan_read4)
IGNORED(__tsan_read8)
IGNORED(__tsan_write1)
IGNORED(__tsan_write2)
IGNORED(__tsan_write4)
IGNORED(__tsan_write8)
IGNORED(__tsan_func_entry)
IGNORED(__tsan_unaligned_read4)
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}
void __tsan_init(void);
void __tsan_init(void) {
}

/* What the core has. */

uint32_t port_cycles(void) {
    static uint32_t cycles;
    return cycles += 100;
}

uint32_t port_clock_hz(void) {
    return 600000000;
}

void run_interrupts(void) {
    settle();
    for (unsigned n = 0;; n++) {
        const bool asks =
            (chip.usbsts & chip.usbintr) != 0 || ((chip.otgsc & OTGSC_BSVIS) != 0 && (chip.otgsc & OTGSC_BSVIE) != 0);
        if (!asks && nvic_pending == 0) {
            return;
        }
        must(n < STORM, "does not end its interrupt");
        nvic_pending = 0;
        usb_handler();
        settle();
    }
}

/* What the host does. */

static void map(uint32_t address, size_t bytes) {
    void *got = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    must(got == (void *)(uintptr_t)address, "finds no memory at the addresses of the registers");
}

void bus_start(void) {
    map(0x400D8000, 0x2000); /* CCM_ANALOG, PMU; USBPHY1 */
    map(0x400FC000, 0x1000); /* CCM */
    map(0x401F4000, 0x1000); /* OCOTP */
    map(0x402E0000, 0x1000); /* USB1 */
    controller_reset();
    OCOTP_MAC0 = 0x12000ABC;
    chip.otgsc |= OTGSC_BSV;
    usb_start();
    settle();
    must((chip.usbcmd & USBCMD_RS) != 0 && nvic_enabled == NVIC_BIT(USB_IRQ), "is not on the bus");
    bus_reset();
}

void bus_reset(void) {
    if ((chip.usbcmd & USBCMD_RS) == 0) {
        return;
    }
    chip.deviceaddr = 0;
    chip.portsc1 = (chip.portsc1 & ~PORTSC1_HSP) | (chip.late ? 0 : PORTSC1_PR);
    chip.usbsts |= USB_INT_RESET;
    chip.undefined |= chip.late;
    chip.late = false;
    run_interrupts();
    chip.portsc1 = (chip.portsc1 & ~PORTSC1_PR) | (chip.fast ? PORTSC1_HSP : 0);
    chip.usbsts |= USB_INT_PORT_CHANGE;
    run_interrupts();
}

void bus_suspend(void) {
    chip.usbsts |= USB_INT_SUSPEND;
    run_interrupts();
}

void setup_token(const uint8_t packet[8]) {
    setup_arrives(packet, false);
    run_interrupts();
}

uint8_t bus_address(void) {
    return (uint8_t)(chip.deviceaddr >> 25);
}

static bool listens(unsigned number, unsigned in) {
    return (chip.usbcmd & USBCMD_RS) != 0 && !chip.undefined && (side(number, in) & ENDPTCTRL_ENABLE) != 0;
}

/* n bytes of the present transfer went over the bus; it is over after a short packet, or with its last byte. */
static void moved(unsigned number, unsigned in, size_t n, bool is_short) {
    head_t *head = head_of(number, in);
    transfer_t *one = transfer_at(head->current);
    head->token -= (uint32_t)n << 16;
    head->page[0] += (uint32_t)n;
    chip.data1[number][in] = !chip.data1[number][in];
    if (!is_short && head->token >> 16 != 0) {
        return;
    }
    head->token &= ~(uint32_t)ACTIVE;
    one->token = head->token;
    if ((one->token & 1u << 15) != 0) {
        chip.complete |= bit(number, in);
        chip.usbsts |= USB_INT_TRANSFER;
    }
    load(number, in, one->next);
}

/* Bytes of the present transfer; page by page, as its pages need not follow each other. */
static uint8_t *byte_of(const transfer_t *one, uint32_t i) {
    const uint32_t offset = (one->page[0] & 0xFFFu) + i;
    const uint32_t page = offset < 0x1000 ? one->page[0] & ~0xFFFu : one->page[offset / 0x1000];
    must(page != 0, "has a transfer beyond its pages");
    return (uint8_t *)(uintptr_t)(page + offset % 0x1000);
}

/* The present transfer, and whether there is one; else what is answered is said. */
static transfer_t *present(unsigned number, unsigned in) {
    if (!listens(number, in)) {
        answer(SILENT, NULL, 0);
    } else if ((side(number, in) & ENDPTCTRL_STALL) != 0) {
        answer(STALL, NULL, 0);
    } else if ((chip.ready & bit(number, in)) == 0 || (number == 0 && chip.setups != 0)) {
        answer(NAK, NULL, 0);
    } else {
        return transfer_at(head_of(number, in)->current);
    }
    return NULL;
}

static uint32_t packet_of(unsigned number, unsigned in) {
    return head_of(number, in)->capabilities >> 16 & 0x7FFu;
}

void in_token(uint8_t endpoint, bool acknowledged) {
    const unsigned number = endpoint & 15;
    const transfer_t *one = present(number, 1);
    uint8_t bytes[1024];
    if (one == NULL) {
        return;
    }
    const uint32_t left = head_of(number, 1)->token >> 16 & 0x7FFFu, packet = packet_of(number, 1);
    const uint32_t n = left < packet ? left : packet, from = (one->token >> 16 & 0x7FFFu) - left;
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = *byte_of(one, from + i);
    }
    answer(chip.data1[number][1] ? DATA1 : DATA0, bytes, n);
    if (acknowledged) {
        moved(number, 1, n, n < packet);
        run_interrupts();
    }
}

void out_token(uint8_t endpoint, bool data1, const uint8_t *bytes, size_t n) {
    const unsigned number = endpoint & 15;
    transfer_t *one = present(number, 0);
    if (one == NULL) {
        return;
    }
    if (data1 == chip.data1[number][0]) { /* else it is a repeat of one whose ACK was lost */
        const uint32_t left = head_of(number, 0)->token >> 16 & 0x7FFFu, to = (one->token >> 16 & 0x7FFFu) - left;
        must(n <= left, "has a transfer that is shorter than a packet");
        for (uint32_t i = 0; i < n; i++) {
            *byte_of(one, to + i) = bytes[i];
        }
        moved(number, 0, n, n < packet_of(number, 0));
        run_interrupts();
    }
    answer(ACK, NULL, 0);
}

/* C: the cable, there or not. F: whether the next reset finds high speed. L: it is over before the program sees it.
   X: the next flush meets a packet under way. s: a SETUP that another one follows while it is read. P: whether the
   device is on the bus. */
void special(uint8_t what, uint8_t argument, const uint8_t *bytes) {
    switch (what) {
    case 'C':
        chip.otgsc = (chip.otgsc & ~OTGSC_BSV) | (argument ? OTGSC_BSV : 0) | OTGSC_BSVIS;
        run_interrupts();
        break;
    case 'F': chip.fast = argument != 0; break;
    case 'L': chip.late = true; break;
    case 'X': chip.refuses_flush = true; break;
    case 's':
        chip.interferes = bytes + 8;
        setup_token(bytes);
        must(chip.interferes == NULL, "does not read the SETUP");
        break;
    case 'P': must(((chip.usbcmd & USBCMD_RS) != 0) == (argument != 0), "is on the bus, or is not"); break;
    default: abort();
    }
}
