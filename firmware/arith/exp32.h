/* exp32 of docs/arithmetic.md, section 5. */
#ifndef EXP32_H
#define EXP32_H

/* e^x for x <= 0; 0 below -87. */
float exp32(float x);

#endif
