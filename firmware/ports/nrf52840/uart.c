#include "board.h"
#include "nrf52840.h"
#include "serial.h"

/* The receiver fills two chunks in turn and goes from one to the other by itself (short ENDRX_STARTRX; RXD.PTR is
   double-buffered). A timer counts its bytes, another one restarts with each and captures the count when the line has
   been silent: up to there every byte has reached the RAM, which RXDRDY alone does not say (Product Specification,
   UARTE: reception). So a wake-up takes a whole chunk or all that came before a silence, and the receiver never stops.
   The handler may be late by the time of a chunk, 2.5 ms. Where there are no shorts, as on an emulator whose UARTE has
   none and tells PPI nothing, every byte is a reception of its own. */
enum {
    CHUNK = 256, /* a power of two */
    RING = 2 * CHUNK,
    TX_CHUNK = 256,
    SILENCE_US = 25, /* two and a half characters at 1 Mbaud */
};
_Static_assert(BOARD_BAUD == 1000000u, "UARTE_BAUDRATE_1M and SILENCE_US");
#define INTERRUPTS (NVIC_BIT(UARTE0_IRQ) | NVIC_BIT(TIMER_IRQ(SILENCE_TIMER)))

static volatile uint8_t rx_ring[RING]; /* EasyDMA cannot reach flash: both buffers are in RAM */
static volatile uint8_t tx_chunk[TX_CHUNK];
static uint32_t filled; /* bytes of the chunks that the receiver has left, since its start */
static uint32_t taken;  /* bytes handed on */
static bool sending;
static bool by_chunks;

/* The J-Link samples P0.05 as its CTS before the first character: high tells it that nobody controls the flow, low that
   it must stop whenever the pin is high (SEGGER's wiki, J-Link OB SAM3U NordicSemi, hardware flow control). A pin that
   floats may be both. */
static void start_pins(void) {
    P0_OUTSET = 1u << BOARD_TX_PIN | 1u << BOARD_RTS_PIN; /* the line is idle before the UARTE drives it */
    P0_PIN_CNF(BOARD_RTS_PIN) = PIN_CNF_OUTPUT;
    P0_PIN_CNF(BOARD_TX_PIN) = PIN_CNF_OUTPUT;
    P0_PIN_CNF(BOARD_RX_PIN) = PIN_CNF_INPUT_PULLED_UP; /* the J-Link lets go of the line while no terminal is open */
    UARTE0_PSEL_TXD = UARTE_PSEL(BOARD_TX_PIN);
    UARTE0_PSEL_RXD = UARTE_PSEL(BOARD_RX_PIN);
}

static void connect(uint32_t channel, volatile uint32_t *event, volatile uint32_t *task, volatile uint32_t *fork) {
    PPI_CH_EEP(channel) = PPI_ADDRESS(*event);
    PPI_CH_TEP(channel) = PPI_ADDRESS(*task);
    PPI_FORK_TEP(channel) = fork == 0 ? 0 : PPI_ADDRESS(*fork);
    PPI_CHENSET = 1u << channel;
}

static void start_timers(void) {
    TIMER_MODE(COUNTER_TIMER) = TIMER_MODE_COUNTER;
    TIMER_BITMODE(COUNTER_TIMER) = TIMER_BITMODE_32;
    TIMER_TASKS_START(COUNTER_TIMER) = 1;
    TIMER_BITMODE(SILENCE_TIMER) = TIMER_BITMODE_32;
    TIMER_PRESCALER(SILENCE_TIMER) = TIMER_PRESCALER_1_MHZ;
    TIMER_CC0(SILENCE_TIMER) = SILENCE_US;
    TIMER_SHORTS(SILENCE_TIMER) = TIMER_SHORTS_COMPARE0_CLEAR | TIMER_SHORTS_COMPARE0_STOP;
    TIMER_INTENSET(SILENCE_TIMER) = TIMER_INT_COMPARE0;
    connect(0, &UARTE0_EVENTS_RXDRDY, &TIMER_TASKS_COUNT(COUNTER_TIMER), &TIMER_TASKS_CLEAR(SILENCE_TIMER));
    connect(1, &UARTE0_EVENTS_RXDRDY, &TIMER_TASKS_START(SILENCE_TIMER), 0);
    connect(2, &TIMER_EVENTS_COMPARE0(SILENCE_TIMER), &TIMER_TASKS_CAPTURE0(COUNTER_TIMER), 0);
}

static void start_receiver(void) {
    TIMER_TASKS_CLEAR(COUNTER_TIMER) = 1;
    (void)happened(&TIMER_EVENTS_COMPARE0(SILENCE_TIMER));
    filled = taken = 0;
    UARTE0_EVENTS_RXSTARTED = 0;
    UARTE0_SHORTS = UARTE_SHORTS_ENDRX_STARTRX;
    UARTE0_RXD_PTR = PPI_ADDRESS(rx_ring);
    UARTE0_RXD_MAXCNT = CHUNK;
    UARTE0_TASKS_STARTRX = 1;
    while (!happened(&UARTE0_EVENTS_RXSTARTED)) {
    }
    UARTE0_RXD_PTR = PPI_ADDRESS(rx_ring[CHUNK]);
}

/* Behind a damaged character, an overflow or a handler that came too late it is not certain what is where: all is
   dropped and begun again, and the link repeats what is missing. The stopped receiver may hold four more bytes, for
   which FLUSHRX is there. */
static void restart_receiver(void) {
    UARTE0_SHORTS = 0;
    UARTE0_TASKS_STOPRX = 1;
    while (!happened(&UARTE0_EVENTS_RXTO)) {
    }
    UARTE0_EVENTS_ENDRX = 0;
    UARTE0_TASKS_FLUSHRX = 1;
    while (!happened(&UARTE0_EVENTS_ENDRX)) {
    }
    UARTE0_ERRORSRC = UARTE_ERRORSRC_ALL;
    start_receiver();
}

static void hand_on(uint32_t end) {
    while (taken != end) {
        serial_received(rx_ring[taken % RING]);
        taken++;
    }
}

static void receive(void) {
    const bool silent =
        happened(&TIMER_EVENTS_COMPARE0(SILENCE_TIMER)); /* before the count that it captured is compared with chunks */
    if (happened(&UARTE0_EVENTS_ERROR)) {
        restart_receiver();
        return;
    }
    if (happened(&UARTE0_EVENTS_RXSTARTED)) {
        filled += CHUNK;
        UARTE0_RXD_PTR = PPI_ADDRESS(rx_ring[(filled + CHUNK) % RING]);
        hand_on(filled);
    }
    if (silent) {
        const uint32_t beyond = TIMER_CC0(COUNTER_TIMER) - filled;
        if (beyond <= CHUNK) {
            hand_on(filled + beyond);
        } else if (beyond <=
                   UINT32_MAX /
                       2) { /* the receiver has left a chunk that nobody was told of; less is an older silence */
            restart_receiver();
        }
    }
}

static void start_bytes(void) {
    UARTE0_RXD_PTR = PPI_ADDRESS(rx_ring);
    UARTE0_RXD_MAXCNT = 1;
    UARTE0_TASKS_STARTRX = 1;
}

/* A reception that is not taken keeps its byte, and those after it wait. INTENCLR is written each time: an emulator may
   carry out INTENSET later than a write that followed it. */
static bool may_receive(void) {
    static bool silenced;
    const bool more = serial_wants_more();
    if (!more) {
        UARTE0_INTENCLR = UARTE_INT_ENDRX;
    } else if (silenced) {
        UARTE0_INTENSET = UARTE_INT_ENDRX;
    }
    silenced = !more;
    return more;
}

/* Started before the event is taken, so that a byte that comes then has its place; and after it, for one that waited
   meanwhile. */
static void receive_bytes(void) {
    while (may_receive() && UARTE0_EVENTS_ENDRX != 0) {
        serial_received(rx_ring[0]);
        UARTE0_TASKS_STARTRX = 1;
        UARTE0_EVENTS_ENDRX = 0;
        UARTE0_TASKS_STARTRX = 1;
    }
}

void uart_start(void) {
    start_pins();
    UARTE0_BAUDRATE = UARTE_BAUDRATE_1M;
    UARTE0_ENABLE = UARTE_ENABLE_ENABLED;
    UARTE0_SHORTS = UARTE_SHORTS_ENDRX_STARTRX;
    by_chunks = UARTE0_SHORTS != 0;
    if (by_chunks) {
        start_timers();
        start_receiver();
    } else {
        start_bytes();
    }
    UARTE0_INTENSET = (by_chunks ? UARTE_INT_RXSTARTED : UARTE_INT_ENDRX) | UARTE_INT_ERROR | UARTE_INT_ENDTX;
    NVIC_ISER(UARTE0_IRQ) = INTERRUPTS;
}

static void send(uint32_t n) {
    UARTE0_TXD_PTR = PPI_ADDRESS(tx_chunk);
    UARTE0_TXD_MAXCNT = n;
    sending = true;
    barrier(); /* the bytes are in RAM before EasyDMA reads them */
    UARTE0_TASKS_STARTTX = 1;
}

void uart_pump(void) {
    if (sending && happened(&UARTE0_EVENTS_ENDTX)) {
        sending = false;
    }
    if (sending || !serial_pending()) {
        return;
    }
    uint32_t n = 0;
    uint8_t byte;
    while (n < TX_CHUNK && serial_next(&byte)) {
        tx_chunk[n++] = byte;
    }
    send(n);
}

void uart_put_polled(uint8_t byte) {
    while (sending && !happened(&UARTE0_EVENTS_ENDTX)) {
    }
    tx_chunk[0] = byte;
    send(1);
}

void uart_handler(void) {
    if (by_chunks) {
        receive();
    } else {
        receive_bytes();
    }
    uart_pump();
}

void uart_poll(void) {
    uart_handler();
    NVIC_ICPR(UARTE0_IRQ) = INTERRUPTS;
}
