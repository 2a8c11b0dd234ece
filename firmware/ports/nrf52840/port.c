#include "agent/port.h"

#include "agent/messages.h"
#include "board.h"
#include "clock.h"
#include "mpu.h"
#include "nrf52840.h"
#include "protect.h"
#include "serial.h"
#include "uart.h"

/* Everything the program uses, and nothing else: any other address faults. Product Specification, memory map. */
static const mpu_region_t regions[] = {
    {.base = 0x00000000u, .log2_size = 20, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH},            /* flash, 1 MB */
    {.base = 0x10000000u, .log2_size = 13, .attributes = MPU_READ_ONLY | MPU_DEVICE | MPU_NEVER_EXECUTE}, /* FICR, UICR */
    {.base = 0x20000000u, .log2_size = 18, .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE}, /* RAM */
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

static void start_cycle_counter(void) {
    DEMCR |= DEMCR_TRCENA;
    DWT_CYCCNT = 0;
    DWT_CTRL |= DWT_CTRL_CYCCNTENA;
}

static void start_marker(void) {
    port_marker(false);
    P1_PIN_CNF(BOARD_MARKER_PIN) = PIN_CNF_OUTPUT;
}

void port_init(void) {
    protect_start();
    clock_start();
    mpu_start(regions, sizeof regions / sizeof regions[0]);
    start_cycle_counter();
    start_marker();
    uart_start();
}

const char *port_board_name(void) {
    return "nrf52840";
}

uint32_t port_clock_hz(void) {
    return CLOCK_HZ;
}

uint32_t port_cpuid(void) {
    return SCB_CPUID;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_DWT;
}

uint32_t port_cycles(void) {
    return DWT_CYCCNT;
}

/* CYCCNT needs no help: it follows the processor clock and stops with it. */
void serial_before_sleep(void) {
}

void serial_after_sleep(void) {
}

void port_marker(bool high) {
    if (high) {
        P1_OUTSET = 1u << BOARD_MARKER_PIN;
    } else {
        P1_OUTCLR = 1u << BOARD_MARKER_PIN;
    }
}
