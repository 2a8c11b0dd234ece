/* The core that kernels are built for, by the compiler's macros. Private to the kernels.

   A kernel has up to four forms, one after the other in the file of its family, the portable one last:

       #if KERNELS_DSP        two 16-bit or four 8-bit lanes in a word: dsp.h
       #elif KERNELS_THUMB1   the instructions of Armv6-M
       #else                  C for any core
       #endif

   and kernels in binary32 have one for KERNELS_FPU. With KERNELS_DSP_IN_C or KERNELS_THUMB1_IN_C the instructions of
   the form are written in C, so that a computer without that core runs and checks the same kernels. */
#pragma once

#if defined(__ARM_FEATURE_DSP) || defined(KERNELS_DSP_IN_C)
#define KERNELS_DSP 1
#else
#define KERNELS_DSP 0
#endif

/* Armv6-M: Thumb instructions of 16 bits only, eight registers that can compute, MULS of 32 bits and no SIMD
   (ARM DDI 0419E, A5). */
#if defined(__ARM_ARCH_6M__) || defined(KERNELS_THUMB1_IN_C)
#define KERNELS_THUMB1 1
#else
#define KERNELS_THUMB1 0
#endif

/* An FPU for binary32, whose 32 registers hold a block of sums. */
#if (defined(__arm__) && defined(__ARM_FP)) || defined(KERNELS_DSP_IN_C)
#define KERNELS_FPU 1
#else
#define KERNELS_FPU 0
#endif

/* A function that stays one, with registers and stack of its own: what it was inlined in would spill more, or take more
   stack. */
#define SEPARATE __attribute__((noinline))

/* A function that is inlined always, so that its arguments may be constants to the compiler. */
#define INLINED static inline __attribute__((always_inline))

/* What a function in assembly for Armv6-M begins and ends with if it uses all registers: 36 bytes of stack. */
#define SAVE_ALL "push {r4-r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n push {r4-r7}\n"
#define RESTORE_ALL "pop {r0-r3}\n mov r8, r0\n mov r9, r1\n mov r10, r2\n mov r11, r3\n pop {r4-r7, pc}\n"

/* A function in assembly finds its parameters in registers: they are named for the reader. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_FEATURE_DSP)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
