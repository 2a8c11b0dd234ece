/* The tick that ends a sleep of known length. */
#ifndef SLEEP_H
#define SLEEP_H

/* The handler of SysTick. */
void sleep_end_handler(void);

#endif
