#include "second_port.h"

#include "agent/port.h"
#include "board.h"
#include "usb.h"

/* Room first: what it lets the controller pass on is then passed on. */
void second_port_poll(void) {
    if (usb_is_on()) {
        serial_function_pump();
        usb_handler();
    }
    NVIC_ICPR(USB_IRQ) = NVIC_BIT(USB_IRQ);
}

void second_port_put_polled(uint8_t byte) {
    while (serial_function_speaks() && !serial_function_is_idle()) {
        usb_handler();
    }
    if (serial_function_speaks()) {
        serial_function_put(byte);
    }
}

/* In the place of the interrupts, which a fault keeps away: the boot loader can still be asked for. */
void port_after_fault(void) {
    if (usb_is_on()) {
        usb_handler();
    } else {
        wait_for_interrupt();
    }
}
