#include "agent/port.h"

#include "board.h"
#include "cache.h"
#include "clock.h"
#include "dwt.h"
#include "mpu.h"
#include "stm32f746.h"
#include "uart.h"

#define FIVE_EIGHTHS (0xE0u << 8) /* MPU_RASR.SRD: the last three of eight subregions are off [B3.5.9] */

static uint32_t core_hz;

/* Everything the program uses, and nothing else: any other address faults. Memory map: RM0385, memory organization. All
   RAM is of one type, so that an access may lie across the end of DTCM, which no cache covers whatever its region says
   (ARM DDI 0489, TCM). */
static const mpu_region_t regions[] = {
    {.base = 0x08000000u, .log2_size = 20, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 1 MB */
    {.base = 0x20000000u,
     .log2_size = 19,
     .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE | FIVE_EIGHTHS},
    {.base = UART_SEND_BASE,
     .log2_size = UART_SEND_LOG2,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

static void start_marker(void) {
    RCC_AHB1ENR |= RCC_AHB1ENR_GPIO(BOARD_MARKER_PORT);
    (void)RCC_AHB1ENR;
    port_marker(false);
    modify(&GPIO_MODER(BOARD_MARKER_PORT), 3u << 2 * BOARD_MARKER_PIN, GPIO_MODE_OUTPUT << 2 * BOARD_MARKER_PIN);
}

void port_init(void) {
    const clock_rates_t rates = clock_start();
    core_hz = rates.core;
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    cache_start();
    dwt_start();
    start_marker();
    uart_start(rates.apb2);
}

const char *port_board_name(void) {
    return "stm32f746";
}

uint32_t port_clock_hz(void) {
    return core_hz;
}

void port_marker(bool high) {
    GPIO_BSRR(BOARD_MARKER_PORT) = 1u << (high ? BOARD_MARKER_PIN : BOARD_MARKER_PIN + 16u);
}
