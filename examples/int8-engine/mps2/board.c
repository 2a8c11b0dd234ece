/* Start-up, UART0 and a clock of QEMU's mps2-an386, for the agent.
 *
 * Sources: Cortex-M System Design Kit TRM (DDI 0479), APB UART; Application Note AN386 (DAI 0386), addresses; ARMv7-M
 * Architecture Reference Manual (DDI 0403), SysTick. */
#include "board.h"

typedef struct {
    volatile uint32_t data, state, control, interrupt, divider;
} uart_t;

typedef struct {
    volatile uint32_t control, reload, value;
} systick_t;

#define UART0 ((uart_t *)0x40004000u)
#define SYSTICK ((systick_t *)0xE000E010u)
enum { CLOCK_HZ = 25000000, BAUD = 921600, TICK_HZ = 1000, TX_FULL = 1, RX_FULL = 2, UART_ON = 3, SYSTICK_ON = 7 };

static volatile uint32_t ticks;

void SysTick_Handler(void) {
    ticks = ticks + 1;
}

static size_t uart_read(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    size_t n = 0;
    while (n < capacity && UART0->state & RX_FULL) {
        bytes[n++] = (uint8_t)UART0->data;
    }
    return n;
}

static void uart_write(void *context, const uint8_t *bytes, size_t n) {
    (void)context;
    for (size_t i = 0; i < n; i++) {
        while (UART0->state & TX_FULL) {
        }
        UART0->data = bytes[i];
    }
}

static uint32_t uart_time(void *context) {
    (void)context;
    return ticks;
}

const hil_hal_t board = {
    .read = uart_read, .write = uart_write, .time = uart_time, .name = "mps2-an386", .time_hz = TICK_HZ};

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);

void Reset_Handler(void) {
    for (uint32_t *to = data_start, *from = data_load; to < data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = bss_start; to < bss_end;) {
        *to++ = 0;
    }
    UART0->divider = CLOCK_HZ / BAUD;
    UART0->control = UART_ON;
    SYSTICK->reload = CLOCK_HZ / TICK_HZ - 1;
    SYSTICK->value = 0;
    SYSTICK->control = SYSTICK_ON;
    main();
}

static void stop(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    stack_top, Reset_Handler, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, SysTick_Handler};
