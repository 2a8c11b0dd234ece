#include "serial.h"

#include <stddef.h>

#include "agent/port.h"
#include "board.h"
#include "cortex_m.h"

enum {
    RX_SIZE = BOARD_RX_RING, /* a power of two */
    TX_SIZE = 2048,          /* a power of two; holds the longest encoded frame */
    RX_PORTION = 256,        /* bytes that a receiver without DMA may be ahead of the program */
    RX_MARGIN = 128,         /* what a host may send beyond its count: leading zeros and repeated single requests */
};

/* Written at `head`, read at `tail`, one side each; both run freely modulo 2^32. */
typedef struct {
    volatile uint32_t head;
    volatile uint32_t tail;
} ring_t;

static ring_t rx, tx;
static volatile bool held_back;            /* the receiver may hold bytes that nothing announces */
static volatile uint8_t rx_bytes[RX_SIZE]; /* volatile: read with interrupts on, in the order of `head` and `tail` */
static uint8_t tx_bytes[TX_SIZE];

static uint32_t used(const ring_t *ring) {
    return ring->head - ring->tail;
}

void serial_received(uint8_t byte) {
    if (used(&rx) < RX_SIZE) {
        rx_bytes[rx.head % RX_SIZE] = byte;
        rx.head++;
    }
}

bool serial_wants_more(void) {
    held_back = used(&rx) >= RX_PORTION;
    return !held_back;
}

bool serial_pending(void) {
    return used(&tx) > 0;
}

bool serial_next(uint8_t *byte) {
    if (!serial_pending()) {
        return false;
    }
    *byte = tx_bytes[tx.tail % TX_SIZE];
    tx.tail++;
    return true;
}

uint16_t port_rx_window(void) {
    return RX_SIZE - RX_MARGIN;
}

size_t port_uart_read(uint8_t *bytes, size_t capacity) {
    size_t n = used(&rx);
    if (n > capacity) {
        n = capacity;
    }
    for (size_t i = 0; i < n; i++) {
        bytes[i] = rx_bytes[(rx.tail + i) % RX_SIZE];
    }
    rx.tail += n;
    if (held_back) {
        interrupts_mask();
        uart_poll();
        interrupts_unmask();
    }
    return n;
}

/* Sleep with interrupts masked: one that comes after the caller's check stays pending and ends the sleep at once.
   Asking the UART here saves it the way into a handler and out again, the most part of receiving a byte. */
static void sleep_masked(void) {
    serial_before_sleep();
    wait_for_interrupt();
    serial_after_sleep();
    uart_poll();
}

void port_uart_write(const uint8_t *bytes, size_t n) {
    interrupts_mask();
    for (size_t i = 0; i < n; i++) {
        while (used(&tx) == TX_SIZE) {
            uart_pump();
            sleep_masked();
            interrupts_unmask();
            interrupts_mask();
        }
        tx_bytes[tx.head % TX_SIZE] = bytes[i];
        tx.head++;
    }
    uart_pump();
    interrupts_unmask();
}

void port_uart_write_polled(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uart_put_polled(bytes[i]);
    }
}

void port_wait(void) {
    interrupts_mask();
    if (used(&rx) == 0) {
        sleep_masked();
    }
    interrupts_unmask();
}

bool serial_has_room(size_t n) {
    held_back = RX_SIZE - used(&rx) < n;
    return !held_back;
}
