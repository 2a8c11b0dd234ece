/* log32 of docs/arithmetic.md, section 5. */
#ifndef LOG32_H
#define LOG32_H

/* The natural logarithm of a normal x > 0. */
float log32(float x);

#endif
