/* The cycle counter of Armv7-M's DWT unit. Implements port_counter(), port_counter_restart(), port_cycles(),
   serial_before_sleep() and serial_after_sleep(). */
#pragma once

/* The counter starts at 0. */
void dwt_start(void);
