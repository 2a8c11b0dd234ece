#include "vectors.h"

#include "board.h"

/* RP2350 data sheet, interrupts: 52. The alignment is VTOR's: a power of two that holds all of the table. */
__attribute__((aligned(512))) VECTORS(52, [INTERRUPT + TIMER_IRQ(SLEEP_ALARM)] = alarm_handler,
                                      [INTERRUPT + TIMER_IRQ(UART_ALARM)] = uart_handler,
                                      [INTERRUPT + UART0_IRQ] = uart_handler);
