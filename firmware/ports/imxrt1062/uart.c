/* The eDMA takes what LPUART6 receives into a ring and gives it what is to be sent. Where no eDMA answers, as on an
   emulator without one, every received byte interrupts, and the core writes what is to be sent. */
#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "imxrt1062.h"
#include "second_port.h"
#include "serial.h"

enum {
    RX_CHANNEL = 0, /* its interrupt has the channel's number (IMXRT1060RM, interrupts: channels 0 to 15) */
    TX_CHANNEL = 1,
    RX_BYTES = 1024, /* half of it are 5.5 ms of the line */
    TX_BYTES = 256,
    SAMPLES = 26, /* of a bit: 24 MHz / 26 = 923 kbaud, 0.16 % too fast (IMXRT1060RM, LPUART: 4 to 32) */
};
_Static_assert(OSC_HZ / SAMPLES > BOARD_BAUD / 100 * 99 && OSC_HZ / SAMPLES < BOARD_BAUD / 100 * 101, "baud rate");

/* In DTCM, which no cache holds. The receive ring is written by the DMA: volatile. */
static volatile uint8_t received[RX_BYTES];
static uint8_t leaving[TX_BYTES];
static uint32_t taken; /* bytes of `received` passed on, modulo its size */
static bool sending;
static bool by_dma;

/* The whole descriptor: after power-on it holds anything (IMXRT1060RM, eDMA: TCD memory). One byte a request. */
static void describe(uint32_t channel, const volatile void *from, uint32_t step_from, const volatile void *to,
                     uint32_t step_to, uint32_t count) {
    DMA_CERQ = (uint8_t)channel; /* an earlier program's channel may be running */
    DMAMUX_CHCFG(channel) = 0;
    TCD_SADDR(channel) = (uint32_t)(uintptr_t)from;
    TCD_SOFF(channel) = (uint16_t)step_from;
    TCD_ATTR(channel) = TCD_ATTR_BYTES;
    TCD_NBYTES(channel) = 1;
    TCD_SLAST(channel) = 0;
    TCD_DADDR(channel) = (uint32_t)(uintptr_t)to;
    TCD_DOFF(channel) = (uint16_t)step_to;
    TCD_CITER(channel) = (uint16_t)count;
    TCD_DLASTSGA(channel) = -count * step_to; /* back to the beginning */
    TCD_CSR(channel) = 0;
    TCD_BITER(channel) = (uint16_t)count;
}

static void start_dma(void) {
    open_gates(&CCM_CCGR5, CCM_CCGR5_DMA);
    describe(RX_CHANNEL, &LPUART6_DATA, 0, received, 1, RX_BYTES);
    by_dma = TCD_BITER(RX_CHANNEL) == RX_BYTES;
    TCD_CSR(RX_CHANNEL) = TCD_CSR_INTMAJOR | TCD_CSR_INTHALF;
    describe(TX_CHANNEL, leaving, 1, &LPUART6_DATA, 0, 1);
    TCD_CSR(TX_CHANNEL) = TCD_CSR_INTMAJOR | TCD_CSR_DREQ;
    DMA_INT = 1u << RX_CHANNEL | 1u << TX_CHANNEL;
    DMAMUX_CHCFG(RX_CHANNEL) = DMAMUX_ENBL | DMAMUX_LPUART6_RX;
    DMAMUX_CHCFG(TX_CHANNEL) = DMAMUX_ENBL | DMAMUX_LPUART6_TX;
    DMA_SERQ = RX_CHANNEL;
}

static void connect_pins(void) {
    open_gates(&CCM_CCGR4, CCM_CCGR4_IOMUXC);
    PAD_GPIO_AD_B0_03 = PAD_HYSTERESIS | PAD_PULL_UP_100K | PAD_MEDIUM;
    MUX_GPIO_AD_B0_03 = MUX_ALT2_LPUART6;
    LPUART6_RX_SELECT = 1; /* of the two pads that can be LPUART6's these, not GPIO_EMC_26 and GPIO_EMC_25 */
    MUX_GPIO_AD_B0_02 = MUX_ALT2_LPUART6;
    LPUART6_TX_SELECT = 1;
}

/* The line wakes the core when half the ring has filled or when it falls silent for a character; without the eDMA, with
   every character. */
void uart_start(void) {
    connect_pins();
    open_gates(&CCM_CCGR3, CCM_CCGR3_LPUART6);
    LPUART6_GLOBAL = LPUART_GLOBAL_RST;
    LPUART6_GLOBAL = 0;
    start_dma();
    LPUART6_BAUD = LPUART_BAUD_OSR((uint32_t)SAMPLES) | (by_dma ? LPUART_BAUD_RDMAE | LPUART_BAUD_TDMAE : 0) | 1u;
    LPUART6_FIFO |= LPUART_FIFO_RXFE | LPUART_FIFO_TXFE;
    LPUART6_WATER = LPUART_WATER_TX(1u);
    LPUART6_CTRL = LPUART_CTRL_TE | LPUART_CTRL_RE | LPUART_CTRL_ILT | (by_dma ? LPUART_CTRL_ILIE : LPUART_CTRL_RIE);
    NVIC_ISER(LPUART6_IRQ) = NVIC_BIT(LPUART6_IRQ) | NVIC_BIT(RX_CHANNEL) | NVIC_BIT(TX_CHANNEL);
}

static void put(uint8_t byte) {
    while ((LPUART6_STAT & LPUART_STAT_TDRE) == 0) {
    }
    LPUART6_DATA = byte;
}

static void pump_by_core(void) {
    for (uint8_t byte; serial_next(&byte);) {
        put(byte);
    }
}

void uart_pump(void) {
    uint16_t count = 0;
    if (second_port_speaks()) {
        second_port_pump();
        return;
    }
    if (!by_dma) {
        pump_by_core();
        return;
    }
    if (sending) {
        return;
    }
    while (count < TX_BYTES && serial_next(&leaving[count])) {
        count++;
    }
    if (count > 0) {
        sending = true;
        TCD_SADDR(TX_CHANNEL) = (uint32_t)(uintptr_t)leaving;
        TCD_CITER(TX_CHANNEL) = count;
        TCD_BITER(TX_CHANNEL) = count;
        barrier();
        DMA_SERQ = TX_CHANNEL;
    }
}

void uart_put_polled(uint8_t byte) {
    if (second_port_speaks()) {
        second_port_put_polled(byte);
        return;
    }
    DMA_CERQ = TX_CHANNEL;
    put(byte);
}

static void take_ring(void) {
    const uint32_t end = (uint32_t)(RX_BYTES - TCD_CITER(RX_CHANNEL)) % RX_BYTES;
    if (taken != end) {
        second_port_hushed();
    }
    for (; taken != end; taken = (taken + 1) % RX_BYTES) {
        serial_received(received[taken]);
    }
}

static bool may_receive(void) {
    static bool silenced;
    const bool more = serial_wants_more();
    if (silenced == more) {
        silenced = !more;
        LPUART6_CTRL ^= LPUART_CTRL_RIE;
    }
    return more;
}

static void take_fifo(void) {
    while (may_receive() && (LPUART6_STAT & LPUART_STAT_RDRF) != 0) {
        second_port_hushed();
        serial_received((uint8_t)LPUART6_DATA);
    }
}

/* Flags before bytes: what arrives meanwhile interrupts again. Line errors need no handling of their own, the frame's
   CRC finds them. */
void uart_handler(void) {
    const uint32_t ended = DMA_INT;
    if (ended != 0) {
        DMA_INT = ended;
    }
    const uint32_t status = LPUART6_STAT;
    if ((status & LPUART_STAT_EVENTS) != 0) {
        LPUART6_STAT = status & LPUART_STAT_EVENTS;
    }
    if (by_dma) {
        take_ring();
    } else {
        take_fifo();
    }
    if ((ended & 1u << TX_CHANNEL) != 0) {
        sending = false;
    }
    uart_pump();
}

void uart_poll(void) {
    uart_handler();
    second_port_poll();
    NVIC_ICPR(LPUART6_IRQ) = NVIC_BIT(LPUART6_IRQ) | NVIC_BIT(RX_CHANNEL) | NVIC_BIT(TX_CHANNEL);
}
