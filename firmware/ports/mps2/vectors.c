#include "vectors.h"

#include "mps2.h"
#include "ticks.h"

VECTORS(BOARD_IRQS, [SYSTICK] = ticks_handler, [INTERRUPT + BOARD_UART0_RX_IRQ] = uart_receive_handler,
        [INTERRUPT + BOARD_UART0_TX_IRQ] = uart_transmit_handler);
