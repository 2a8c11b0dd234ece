/* FlexRAM: how its 16 banks of 32 KB are shared among ITCM, DTCM and OCRAM. */
#pragma once

/* The first instructions of the program: cut FlexRAM as memory.ld has it, then go on to reset_handler(). */
void flexram_start(void);
