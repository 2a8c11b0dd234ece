/* The start of an STM32, its clock and its marker. */
#include "agent/port.h"

#include "board.h"
#include "cache.h"
#include "dwt.h"

static uint32_t core_hz;

static void start_marker(void) {
    RCC_GPIO_ENR |= 1u << BOARD_MARKER_PORT;
    (void)RCC_GPIO_ENR;
    port_marker(false);
    modify(&GPIO_MODER(BOARD_MARKER_PORT), 3u << 2 * BOARD_MARKER_PIN, GPIO_MODE_OUTPUT << 2 * BOARD_MARKER_PIN);
}

void port_init(void) {
    const clock_rates_t rates = clock_start();
    core_hz = rates.core;
    regions_protect();
    cache_start();
    dwt_start();
    start_marker();
    uart_start(rates.apb2);
}

const char *port_board_name(void) {
    return BOARD_NAME;
}

uint32_t port_clock_hz(void) {
    return core_hz;
}

void port_marker(bool high) {
    GPIO_BSRR(BOARD_MARKER_PORT) = 1u << (high ? BOARD_MARKER_PIN : BOARD_MARKER_PIN + 16u);
}
