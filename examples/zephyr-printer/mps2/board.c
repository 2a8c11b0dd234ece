/* What newlib needs on QEMU's mps2-an386: a vector table, a start, and UART0 as standard output.
 *
 * Sources: Cortex-M System Design Kit TRM (DDI 0479), APB UART; ARMv7-M Architecture Reference Manual (DDI 0403),
 * CPACR. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

typedef struct {
    volatile uint32_t data, state, control, interrupt, divider;
} uart_t;

#define UART0 ((uart_t *)0x40004000u)
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
enum { TX_FULL = 1, TX_ENABLE = 1, DIVIDER = 217 /* 25 MHz to 115,200 baud */ };

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], heap_start[], heap_end[], stack_top[];
int main(void);
void SysTick_Handler(void); /* uptime.c */

void Reset_Handler(void) {
    for (uint32_t *to = data_start, *from = data_load; to < data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = bss_start; to < bss_end;) {
        *to++ = 0;
    }
    CPACR |= 0xFu << 20; /* switch the floating-point unit on */
    __asm__ volatile("dsb\n isb");
    UART0->divider = DIVIDER;
    UART0->control = TX_ENABLE;
    exit(main());
}

static void stop(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    stack_top, Reset_Handler, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, SysTick_Handler};

int _write(int file, const char *bytes, int count) {
    (void)file;
    for (int i = 0; i < count; i++) {
        while (UART0->state & TX_FULL) {
        }
        UART0->data = (uint8_t)bytes[i];
    }
    return count;
}

void *_sbrk(ptrdiff_t bytes) {
    static char *end = (char *)heap_start;
    char *const begin = end;
    if (bytes > (char *)heap_end - end) {
        return (void *)-1;
    }
    end += bytes;
    return begin;
}

void _exit(int code) {
    (void)code;
    stop();
    __builtin_unreachable();
}
