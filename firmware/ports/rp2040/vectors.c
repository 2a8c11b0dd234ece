#include "vectors.h"

#include "board.h"
#include "ticks.h"
#include "usb.h"

/* The processor has 32 interrupts, of which 26 are used (RP2040 data sheet, 2.3.2). */
__attribute__((aligned(256))) VECTORS(32, [SYSTICK] = ticks_handler,
                                      [INTERRUPT + TIMER_IRQ(SLEEP_ALARM)] = alarm_handler,
                                      [INTERRUPT + TIMER_IRQ(UART_ALARM)] = uart_handler,
                                      [INTERRUPT + USB_IRQ] = usb_handler, [INTERRUPT + GPIO_IRQ] = cable_handler,
                                      [INTERRUPT + UART0_IRQ] = uart_handler);
