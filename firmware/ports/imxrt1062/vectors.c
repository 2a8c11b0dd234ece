#include "vectors.h"

#include "board.h"
#include "imxrt1062.h"
#include "usb.h"

enum { DMA_0 = INTERRUPT, DMA_1 };

/* NXP's device header. The alignment is VTOR's: a power of two that holds all of the table. */
__attribute__((aligned(1024)))
VECTORS(158, [SYSTICK] = sleep_end_handler, [DMA_0] = uart_handler, [DMA_1] = uart_handler,
        [INTERRUPT + LPUART6_IRQ] = uart_handler, [INTERRUPT + USB_IRQ] = usb_handler);
