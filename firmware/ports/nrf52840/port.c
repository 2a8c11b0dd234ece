#include "agent/port.h"

#include "board.h"
#include "dwt.h"
#include "mpu.h"
#include "nrf52840.h"

/* Everything the program uses, and nothing else: any other address faults. Product Specification, memory map. */
static const mpu_region_t regions[] = {
    {.base = 0x00000000u, .log2_size = 20, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 1 MB */
    {.base = FLASH_OF_CHECKPOINTS,
     .log2_size = FLASH_OF_CHECKPOINTS_LOG2,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x10000000u,
     .log2_size = 13,
     .attributes = MPU_READ_ONLY | MPU_DEVICE | MPU_NEVER_EXECUTE}, /* FICR, UICR */
    {.base = 0x20000000u, .log2_size = 18, .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE}, /* RAM */
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

static void start_marker(void) {
    port_marker(false);
    P1_PIN_CNF(BOARD_MARKER_PIN) = PIN_CNF_OUTPUT;
}

void port_init(void) {
    protect_start();
    clock_start();
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    dwt_start();
    start_marker();
    uart_start();
}

const char *port_board_name(void) {
    return "nrf52840";
}

uint32_t port_clock_hz(void) {
    return CLOCK_HZ;
}

void port_marker(bool high) {
    if (high) {
        P1_OUTSET = 1u << BOARD_MARKER_PIN;
    } else {
        P1_OUTCLR = 1u << BOARD_MARKER_PIN;
    }
}
