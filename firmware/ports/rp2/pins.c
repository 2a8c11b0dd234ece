/* What leaves the chip, and what is held in reset. */
#include "agent/port.h"

#include "board.h"

#define USED_BLOCKS (RESETS_DMA | RESETS_IO_BANK0 | RESETS_PADS_BANK0 | RESETS_TIMER | RESETS_UART0)

#define KEPT_BLOCKS (RESETS_IO_QSPI | RESETS_PADS_QSPI | RESETS_PLL_SYS) /* the way to the flash, and the clock */

void blocks_restart(void) {
    ATOMIC_SET(RESETS_RESET) = RESETS_ALL & ~KEPT_BLOCKS;
    ATOMIC_CLEAR(RESETS_RESET) = USED_BLOCKS;
    while ((RESETS_DONE & USED_BLOCKS) != USED_BLOCKS) {
    }
}

/* The pad after the function: only then does RP2350 let the pin follow (data sheet, pad isolation latches). */
void pin_start(uint32_t pin, uint32_t function, uint32_t pad) {
    GPIO_CTRL(pin) = function;
    PAD(pin) = pad;
}

void marker_start(void) {
    port_marker(false);
    SIO_OE_SET = 1u << BOARD_MARKER_PIN;
    pin_start(BOARD_MARKER_PIN, GPIO_FUNCTION_SIO, PAD_4_MA_PULLED_DOWN_OUTPUT);
}

void port_marker(bool high) {
    if (high) {
        SIO_OUT_SET = 1u << BOARD_MARKER_PIN;
    } else {
        SIO_OUT_CLEAR = 1u << BOARD_MARKER_PIN;
    }
}

uint32_t port_clock_hz(void) {
    return CLOCK_HZ;
}
