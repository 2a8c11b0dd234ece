/* The tick that ends a sleep of known length. */
#pragma once

/* The handler of SysTick. */
void sleep_end_handler(void);
