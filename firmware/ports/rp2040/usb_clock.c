#include "board.h"
#include "pll.h"

/* 12 MHz * 100 / 5 / 5 = 48 MHz; the oscillator between runs at 1200. */
enum { USB_FEEDBACK = 100, USB_POST = 5 };
_Static_assert(BOARD_CRYSTAL_HZ / 1000000u * USB_FEEDBACK / USB_POST / USB_POST == 48, "the PLL gives what USB needs");

void usb_clock_start(void) {
    ATOMIC_CLEAR(CLK_USB_CTRL) = CLK_USB_ENABLE; /* an earlier program's */
    pll_start(PLL_USB, RESETS_PLL_USB, USB_FEEDBACK, USB_POST << 16 | USB_POST << 12);
    CLK_USB_DIV = CLK_UNDIVIDED;
    REGISTER(CLK_USB_CTRL) = CLK_USB_ENABLE;
}

void usb_clock_stop(void) {
    ATOMIC_CLEAR(CLK_USB_CTRL) = CLK_USB_ENABLE;
    ATOMIC_SET(RESETS_RESET) = RESETS_PLL_USB;
}
