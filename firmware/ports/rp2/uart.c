/* A burst of bytes begins in the FIFO, whose level or receive time-out interrupts. Where the level is reached, more is
   coming: from there on the DMA brings stretches of bytes into a ring, each twice as long as the one before. The
   stretch's end needs no interrupt, for then the FIFO fills again and its level asks for the next one, or its time-out
   tells that the burst is over. Only a silence within a stretch leaves the FIFO empty, and there the time-out is blind
   (RP2040 data sheet, 4.2.6.4): an alarm, set to when the stretch would be over, ends it. So the end of a burst is
   noticed late by about as long as the burst was, and by 5.7 ms at most. Where no DMA answers, the core
   reads the FIFO. */
#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "second_port.h"
#include "serial.h"

#define RX_CHANNEL 0u

enum {
    RX_RING_LOG2 = 10,
    RX_RING = 1 << RX_RING_LOG2, /* bytes; two of the longest stretches: one is taken while the next comes */
    FIRST_STRETCH = 32,
    LONGEST_STRETCH = RX_RING / 2, /* 5.6 ms of the line */
    BYTE_US = 10 * 1000000 / BOARD_BAUD + 1,
    LATE_BYTES = 8, /* what the alarm waits beyond: with BYTE_US rounded up, the other end may be 2 % slow */
};

/* The divider in 64ths (4.2.7.1). */
#define DIVIDER ((CLOCK_HZ * 4u + BOARD_BAUD / 2u) / BOARD_BAUD)

/* Bytes into the ring, at the UART's requests; no other channel after this one. */
#define RX_CONTROL                                                                                                     \
    (DMA_CTRL_REQUEST(DREQ_UART0_RX) | DMA_CTRL_CHAIN_TO(RX_CHANNEL) | DMA_CTRL_WRITE_RING(RX_RING_LOG2) |             \
     DMA_CTRL_INCR_WRITE)

#define INTERRUPTS_OF_UART (UART_INT_RX | UART_INT_RX_TIMEOUT | UART_INT_TX)

/* Aligned to its size, as its addresses wrap (2.5.7, RING_SIZE). No initial values, and not cleared: only what the DMA
   wrote is read. */
static volatile uint8_t ring[RX_RING] __attribute__((section(".dma"), aligned(RX_RING)));
static uint32_t taken;   /* place in the ring of the next byte to take */
static uint32_t stretch; /* bytes of the present stretch; 0 while the core reads the FIFO */
static bool by_dma;

static void start_channel(void) {
    DMA_READ_ADDR(RX_CHANNEL) = UART0_DR_ADDRESS;
    DMA_WRITE_ADDR(RX_CHANNEL) = (uint32_t)(uintptr_t)ring;
    DMA_AL1_CTRL(RX_CHANNEL) = RX_CONTROL | DMA_CTRL_EN;
    by_dma = (DMA_AL1_CTRL(RX_CHANNEL) & DMA_CTRL_EN) != 0;
}

/* The receiver interrupts at 16 bytes or when the line falls silent for 32 bits; 16 bytes of room are 174 us. */
void uart_start(void) {
    pin_start(BOARD_TX_PIN, GPIO_FUNCTION_UART, PAD_4_MA_PULLED_DOWN_OUTPUT);
    pin_start(BOARD_RX_PIN, GPIO_FUNCTION_UART, PAD_4_MA_PULLED_UP_INPUT);
    start_channel();
    UART0_IBRD = DIVIDER / 64u;
    UART0_FBRD = DIVIDER % 64u;
    UART0_LCR_H = UART_LCR_8_BITS | UART_LCR_FIFOS; /* after the divider, which it makes take effect */
    UART0_IFLS = UART_IFLS_RX_HALF | UART_IFLS_TX_EIGHTH;
    UART0_IMSC = INTERRUPTS_OF_UART;
    UART0_CR = UART_CR_ENABLE | UART_CR_TX | UART_CR_RX;
    ATOMIC_SET(TIMER_INTE) = 1u << UART_ALARM;
    NVIC_ISER(UART0_IRQ) = NVIC_BIT(UART0_IRQ);
    NVIC_ISER(TIMER_IRQ(UART_ALARM)) = NVIC_BIT(TIMER_IRQ(UART_ALARM));
}

/* While bytes are queued the FIFO is full, so that it falls through its threshold and interrupts. */
void uart_pump(void) {
    uint8_t byte;
    if (second_port_speaks()) {
        second_port_pump();
        return;
    }
    while (serial_pending() && (UART0_FR & UART_FR_TXFF) == 0 && serial_next(&byte)) {
        UART0_DR = byte;
    }
}

void uart_put_polled(uint8_t byte) {
    if (second_port_speaks()) {
        second_port_put_polled(byte);
        return;
    }
    while ((UART0_FR & UART_FR_TXFF) != 0) {
    }
    UART0_DR = byte;
}

/* The FIFO belongs to the DMA or to the core, never to both (2.5.3.2): the first stretch forgets what the channel had
   counted before. */
static void begin_stretch(void) {
    if (stretch == 0) {
        DMA_DBG_CTDREQ(RX_CHANNEL) = 0;
        UART0_DMACR = UART_DMACR_RX;
        stretch = FIRST_STRETCH;
    } else if (stretch < LONGEST_STRETCH) {
        stretch *= 2;
    }
    DMA_AL1_TRANS_COUNT_TRIG(RX_CHANNEL) = stretch;
    TIMER_INTR = 1u << UART_ALARM; /* that of the stretch before may just have rung */
    TIMER_ALARM(UART_ALARM) = TIMER_TIMERAWL + (stretch + LATE_BYTES) * BYTE_US;
}

/* A transfer in flight is waited for at BUSY, as the abort's own bit may fall too early (errata RP2040-E13). An enabled
   channel might start again by its abort (errata RP2350-E5). */
static void end_stretches(void) {
    UART0_DMACR = 0;
    DMA_AL1_CTRL(RX_CHANNEL) = RX_CONTROL;
    DMA_CHAN_ABORT = 1u << RX_CHANNEL;
    while ((DMA_AL1_CTRL(RX_CHANNEL) & DMA_CTRL_BUSY) != 0) {
    }
    DMA_AL1_CTRL(RX_CHANNEL) = RX_CONTROL | DMA_CTRL_EN;
    TIMER_ARMED = 1u << UART_ALARM;
    TIMER_INTR = 1u << UART_ALARM;
    stretch = 0;
}

static void take_ring(void) {
    const uint32_t place = DMA_WRITE_ADDR(RX_CHANNEL) % RX_RING;
    if (taken != place) {
        second_port_hushed();
    }
    for (; taken != place; taken = (taken + 1) % RX_RING) {
        serial_received(ring[taken]);
    }
}

/* With DMA the FIFO is taken at once: it holds 32 bytes, which the core is always faster than. */
static bool may_receive(void) {
    static bool silenced;
    const bool more = by_dma || serial_wants_more();
    if (silenced == more) {
        silenced = !more;
        UART0_IMSC = INTERRUPTS_OF_UART & ~(more ? 0 : UART_INT_RX | UART_INT_RX_TIMEOUT);
    }
    return more;
}

static void take_fifo(void) {
    while (may_receive() && (UART0_FR & UART_FR_RXFE) == 0) {
        second_port_hushed();
        serial_received((uint8_t)UART0_DR);
    }
}

/* Flags before bytes: what arrives meanwhile interrupts again. */
void uart_handler(void) {
    const uint32_t status = UART0_MIS;
    UART0_ICR = status;
    if (by_dma && (status & UART_INT_RX) != 0) {
        begin_stretch();
    } else if (stretch != 0 && ((status & UART_INT_RX_TIMEOUT) != 0 || (TIMER_INTR & 1u << UART_ALARM) != 0)) {
        end_stretches();
    }
    if (by_dma) {
        take_ring();
    }
    if (stretch == 0) {
        take_fifo();
    }
    uart_pump();
}

void uart_poll(void) {
    uart_handler();
    second_port_poll();
    NVIC_ICPR(UART0_IRQ) = NVIC_BIT(UART0_IRQ);
    NVIC_ICPR(TIMER_IRQ(UART_ALARM)) = NVIC_BIT(TIMER_IRQ(UART_ALARM));
}
