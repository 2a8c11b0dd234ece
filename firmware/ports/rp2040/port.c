#include "agent/port.h"

#include "board.h"
#include "rp2040.h"
#include "ticks.h"

#define USED_BLOCKS (RESETS_DMA | RESETS_IO_BANK0 | RESETS_PADS_BANK0 | RESETS_TIMER | RESETS_UART0)

#define KEPT_BLOCKS (RESETS_IO_QSPI | RESETS_PADS_QSPI | RESETS_PLL_SYS) /* the way to the flash, and the clock */

/* An earlier program's DMA, PIO, USB, ... run on through a debugger's reset (RP2040 data sheet, 2.4.2.9): all into
   reset, as after power on, and out of it only what is used. */
static void restart_blocks(void) {
    ATOMIC_SET(RESETS_RESET) = RESETS_ALL & ~KEPT_BLOCKS;
    ATOMIC_CLEAR(RESETS_RESET) = USED_BLOCKS;
    while ((RESETS_DONE & USED_BLOCKS) != USED_BLOCKS) {
    }
}

static void start_marker(void) {
    port_marker(false);
    SIO_OE_SET = 1u << BOARD_MARKER_PIN;
    GPIO_CTRL(BOARD_MARKER_PIN) = GPIO_FUNCTION_SIO;
}

void port_init(void) {
    clock_start();
    restart_blocks();
    ticks_start();
    start_marker();
    uart_start();
}

const char *port_board_name(void) {
    return "rp2040";
}

uint32_t port_clock_hz(void) {
    return CLOCK_HZ;
}

uint32_t port_cycles(void) {
    return ticks_read();
}

void port_marker(bool high) {
    if (high) {
        SIO_OUT_SET = 1u << BOARD_MARKER_PIN;
    } else {
        SIO_OUT_CLEAR = 1u << BOARD_MARKER_PIN;
    }
}
