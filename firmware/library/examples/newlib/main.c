/* The agent beside newlib: printf, malloc and requests of the host on one serial port. For Arm's MPS2+ AN386 as QEMU
   models it; nothing of this project but the library. docs/own-firmware.md explains it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hil_agent.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART_DATA REGISTER(0x40004000u) /* Arm CMSDK UART (DDI 0479), UART0 of AN386 (DAI 0386) */
#define UART_STATE REGISTER(0x40004004u)
#define UART_CTRL REGISTER(0x40004008u)
#define UART_BAUDDIV REGISTER(0x40004010u)
#define LED REGISTER(0x40028000u)
#define SYST_CSR REGISTER(0xE000E010u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0xE000E018u)
enum { CLOCK_HZ = 25000000, TICK_HZ = 100000, TX_FULL = 1, RX_FULL = 2 };

static volatile uint32_t ticks;

void SysTick_Handler(void) {
    ticks++;
}

/* The device: four functions. */

static size_t uart_read(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    size_t n = 0;
    while (n < capacity && (UART_STATE & RX_FULL) != 0) {
        bytes[n++] = (uint8_t)UART_DATA;
    }
    return n;
}

static void uart_write(void *context, const uint8_t *bytes, size_t n) {
    (void)context;
    for (size_t i = 0; i < n; i++) {
        while ((UART_STATE & TX_FULL) != 0) {
        }
        UART_DATA = bytes[i];
    }
}

static uint32_t uart_time(void *context) {
    (void)context;
    return ticks;
}

static void led(void *context, bool high) {
    (void)context;
    LED = high;
}

static const hil_hal_t hal = {
    .read = uart_read, .write = uart_write, .time = uart_time, .marker = led, .name = "mps2-an386", .time_hz = TICK_HZ};

int _write(int file, const char *text, int n) { /* newlib's printf ends here */
    (void)file;
    uart_write(NULL, (const uint8_t *)text, (size_t)n);
    return n;
}

/* What the host can ask. */

/* 0x20: add float32 numbers; the reply is their running sums. */
static uint32_t sums(const hil_request_t *request, hil_reply_t *reply) {
    const size_t count = request->length / sizeof(float);
    float *numbers = malloc(request->length + 1);
    if (numbers == NULL || request->length % sizeof(float) != 0) {
        free(numbers);
        return 7; /* an error number of this firmware */
    }
    memcpy(numbers, request->body, request->length);
    float sum = 0.0f;
    bool fits = true;
    for (size_t i = 0; i < count; i++) {
        sum += numbers[i];
        fits = fits && hil_put(reply, &sum, sizeof sum);
    }
    free(numbers);
    printf("added %u numbers\n", (unsigned)count);
    return fits ? 0 : 8;
}

/* 0x21: work for as many seconds as the body says, with the marker high. */
static uint32_t work(const hil_request_t *request, hil_reply_t *reply) {
    (void)reply;
    if (request->length != 1) {
        return 7;
    }
    const uint32_t start = ticks;
    hil_marker(true);
    while (ticks - start < TICK_HZ * (uint32_t)request->body[0]) {
    }
    hil_marker(false);
    return 0;
}

int main(void) {
    UART_BAUDDIV = 27; /* 25 MHz / 27: 925,926 baud */
    UART_CTRL = 3;     /* TX, RX */
    SYST_RVR = CLOCK_HZ / TICK_HZ - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    setvbuf(stdout, NULL, _IOLBF, 80);
    printf("ready\n");
    hil_agent_start(&hal);
    HIL_REQUEST(0x20, sums);
    HIL_REQUEST(0x21, work);
    for (;;) {
        hil_agent_poll();
    }
}

/* Start-up. */

extern uint32_t stack_top[], data_start[], data_end[], data_load[], bss_start[], bss_end[];

__attribute__((noreturn)) void Reset_Handler(void) {
    memcpy(data_start, data_load, (size_t)((uintptr_t)data_end - (uintptr_t)data_start));
    memset(bss_start, 0, (size_t)((uintptr_t)bss_end - (uintptr_t)bss_start));
    REGISTER(0xE000ED88u) |= 0xFu << 20; /* CPACR: the FPU */
    main();
    for (;;) {
    }
}

static void stop(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    [0] = stack_top,
    [1] = (void *)Reset_Handler,
    [2 ... 14] = (void *)stop,
    [15] = (void *)SysTick_Handler,
};
