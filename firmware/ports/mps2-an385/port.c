#include "agent/port.h"

#include "mps2.h"
#include "ticks.h"
#include "uart.h"

void port_init(void) {
    ticks_start();
    uart_start();
}

const char *port_board_name(void) {
    return "mps2-an385";
}
