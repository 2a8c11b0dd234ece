/* The tick that ends a sleep of known length. */
#pragma once

/* The handler of SysTick. */
void sleep_tick_handler(void);
