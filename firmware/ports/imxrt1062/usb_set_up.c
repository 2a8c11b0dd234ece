/* What USB needs besides its controller: supply, clocks and PHY; and the number of the board. */
#include <stddef.h>
#include <stdint.h>

#include "board.h"
#include "imxrt1062.h"
#include "usb.h"

/* PLL3 runs, as the boot ROM has the flash at it: only its way to USB is opened. The regulator is off after a reset. */
void usb_set_up(void) {
    open_gates(&CCM_CCGR2, CCM_CCGR2_OCOTP);
    PMU_REG_3P0_SET = PMU_REG_3P0_ENABLE_LINREG;
    PLL_USB1_SET = PLL_USB1_EN_USB_CLKS;
    open_gates(&CCM_CCGR6, CCM_CCGR6_USB);
    USBPHY1_CTRL_CLR = USBPHY_CTRL_SFTRST | USBPHY_CTRL_CLKGATE;
    USBPHY1_PWD = 0;
}

/* PJRC numbers its boards in the fuses of the Ethernet address (teensy4/usb_desc.c), and the boot loader shows the same
   number in eight digits (Koromix, TyTools: class_teensy.c). */
const uint8_t *usb_serial_number(size_t *n) {
    static uint8_t number[4];
    const uint32_t fuses = OCOTP_MAC0;
    number[1] = (uint8_t)(fuses >> 16);
    number[2] = (uint8_t)(fuses >> 8);
    number[3] = (uint8_t)fuses;
    *n = sizeof number;
    return number;
}
