#include "agent/port.h"

#include "board.h"
#include "cache.h"
#include "clock.h"
#include "dwt.h"
#include "mpu.h"
#include "stm32h7b3.h"
#include "uart.h"

static uint32_t core_hz;

/* Everything the program uses, and nothing else: any other address faults. Memory map: RM0455, memory organization. */
static const mpu_region_t regions[] = {
    {.base = 0x08000000u, .log2_size = 21, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 2 MB */
    {.base = 0x08180000u,
     .log2_size = 19,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* of it for checkpoints: flash.c */
    {.base = 0x20000000u, .log2_size = 17, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* DTCM */
    {.base = 0x24000000u, .log2_size = 20, .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE}, /* AXI */
    {.base = 0x30000000u,
     .log2_size = 16,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* AHB SRAM 1 */
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

static void start_marker(void) {
    RCC_AHB4ENR |= RCC_AHB4ENR_GPIO(BOARD_MARKER_PORT);
    (void)RCC_AHB4ENR;
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
    return "stm32h7b3";
}

uint32_t port_clock_hz(void) {
    return core_hz;
}

void port_marker(bool high) {
    GPIO_BSRR(BOARD_MARKER_PORT) = 1u << (high ? BOARD_MARKER_PIN : BOARD_MARKER_PIN + 16u);
}
