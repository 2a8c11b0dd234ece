@ Runs every case of `cases` on one set of inputs, and appends what it left to `out`: r0 to r6 and APSR, CFSR or a mark of
@ a fault, the 32 bytes of data, and with an FPU s0 to s7 and FPSCR. A fault in a case ends that case only.
@ The instructions here are those of Armv6-M, so that every core runs it.
    .syntax unified
    .thumb
    .macro vectors
    .word stack, start + 1, fault + 1, fault + 1, fault + 1, fault + 1, fault + 1
    .rept 9
    .word fault + 1
    .endr
    .endm

    .section .boot, "ax"
    vectors

    .text
table:
    vectors

    .global start
    .thumb_func
start:
.ifdef FPU
    ldr r0, =0xE000ED88 @ CPACR: full access to coprocessors 10 and 11
    ldr r1, =0x00F00000
    str r1, [r0]
    dsb
    isb
.endif
next:
    ldr r7, =state
    ldr r0, [r7, #4]
    ldr r1, [r0]
    cmp r1, #0
    bne 1f
    b finished
1:  adds r0, #4
    str r0, [r7, #4]
    str r1, [r7, #8]
    ldr r0, =data
    ldr r6, =scratch
    ldm r0!, {r1-r4}
    stm r6!, {r1-r4}
    ldm r0!, {r1-r4}
    stm r6!, {r1-r4}
.ifdef FPU
    ldr r0, =floats
    vldm r0, {s0-s7}
    movs r0, #0
    vmsr fpscr, r0
.endif
    ldr r6, =scratch
    mov lr, r6
    ldr r0, =flags
    ldr r0, [r0]
    msr APSR_FLAGS, r0
    ldr r0, =inputs
    ldm r0, {r0-r5}
    ldr r7, [r7, #8]
    bx r7
    .ltorg

    .thumb_func
fault: @ of the case: go on at `done`, outside any IT block
    ldr r1, =done
    subs r1, #1 @ the address in a frame has no Thumb bit
    str r1, [sp, #24]
    ldr r1, [sp, #28]
    ldr r2, =~0x0600FC00
    ands r1, r2
    str r1, [sp, #28]
    ldr r3, =state
    ldr r2, =1 << 31
.ifdef CFSR
    ldr r1, =0xE000ED28
    ldr r0, [r1]
    orrs r2, r0
    str r0, [r1]
.endif
    str r2, [r3, #12]
    bx lr
    .ltorg

    .thumb_func
done:
    push {r0-r6}
    mrs r0, apsr
    push {r0}
    ldr r7, =state
    ldr r5, [r7]
    movs r2, #8
1:  pop {r0}
    stm r5!, {r0}
    subs r2, #1
    bne 1b
    ldr r0, [r7, #12]
    stm r5!, {r0}
    movs r0, #0
    str r0, [r7, #12]
    ldr r6, =scratch
    movs r2, #8
2:  ldm r6!, {r0}
    stm r5!, {r0}
    subs r2, #1
    bne 2b
.ifdef FPU
    vstm r5!, {s0-s7}
    vmrs r0, fpscr
    stm r5!, {r0}
.endif
    str r5, [r7]
    b next
    .ltorg

finished:
    ldr r0, =semihosting
    ldr r0, [r0]
    cmp r0, #0
    beq 1f @ else write `out` to standard output, and end
    ldr r1, =open
    movs r0, #1
    bkpt #0xAB
    ldr r1, =write
    str r0, [r1]
    ldr r2, =out
    ldr r3, [r7]
    subs r3, r3, r2
    str r2, [r1, #4]
    str r3, [r1, #8]
    movs r0, #5
    bkpt #0xAB
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt #0xAB
1:  wfi
    b 1b
    .ltorg

    .balign 4
semihosting: .word 1
open: .word name, 4, 3
write: .word 0, 0, 0
name: .asciz ":tt"
    .balign 4
state: .word out, cases, 0, 0
scratch: .space 32
