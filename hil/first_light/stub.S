/* The stub of a first light: what a core does from RAM before anything is in its flash (hil/first_light/stub.py).

   Instructions of Armv6-M only, so that it runs on every Cortex-M; no stack, no interrupts, no place of its own: r7 has
   the address of the block of parameters, 0x80 bytes before the first instruction. Numbers
   of fields are byte offsets in that block. stub.py has the words; a test assembles this file and compares them. */
    .syntax unified
    .thumb
    .cpu cortex-m0plus

    .equ COMMAND, 0
    .equ STATE, 4
    .equ COUNT, 8
    .equ LIMIT, 12
    .equ STATUS, 16        /* ready while ((word at STATUS ^ STATUS_FLIP) & STATUS_MASK) is not 0; always, if STATUS is 0 */
    .equ STATUS_MASK, 20
    .equ STATUS_FLIP, 24
    .equ DATA, 28
    .equ ON, 32            /* address and value by which the marker rises */
    .equ OFF, 40           /* ... and falls */
    .equ DONE, 48          /* address and value of a store at the end; none if the address is 0 */
    .equ COUNTER, 56       /* address of a counter; 0 is allowed where nobody asks for it */
    .equ BEFORE, 60
    .equ AFTER, 64
    .equ SETTLE, 68        /* rounds before and after a pulse */
    .equ ICSR, 0xE000ED04  /* ARM DDI 0419E, B3.2.4; the same on Armv7-M and Armv8-M */

begin:
    cpsid i
    ldr r0, =0x600DC0DE
    str r0, [r7, #STATE]
    movs r4, #0
    str r4, [r7, #COUNT]
    ldr r5, [r7, #LIMIT]
    movs r6, #4
    lsls r6, r6, #8        /* the buffer is 1,024 bytes after the block */
    adds r6, r6, r7
    ldr r0, [r7, #COMMAND]
    cmp r0, #1
    beq sleep
    cmp r0, #2
    beq pulse
    cmp r0, #3
    beq receive
    cmp r0, #4
    beq send
    cmp r0, #5
    beq sum

spin:                      /* COUNT tells that the core runs */
    adds r4, r4, #1
    str r4, [r7, #COUNT]
    b spin

sleep:                     /* a pending exception wakes it, although interrupts are off */
    wfi
    adds r4, r4, #1
    str r4, [r7, #COUNT]
    ldr r0, =ICSR
    movs r1, #1
    lsls r1, r1, #27       /* PENDSVCLR */
    str r1, [r0]
    dsb
    b sleep

pulse:
    bl ready
    bl settle
    ldr r2, [r7, #COUNTER]
    ldr r0, [r7, #ON]
    ldr r1, [r7, #ON + 4]
    str r1, [r0]
    ldr r3, [r2]
    str r3, [r7, #BEFORE]
pulse_round:
    subs r5, r5, #1
    bne pulse_round
    ldr r3, [r2]
    str r3, [r7, #AFTER]
    ldr r0, [r7, #OFF]
    ldr r1, [r7, #OFF + 4]
    str r1, [r0]
    bl settle
    b finish

receive:
    bl ready
    ldr r0, [r7, #DATA]
    ldr r1, [r0]
    strb r1, [r6, r4]
    adds r4, r4, #1
    str r4, [r7, #COUNT]
    cmp r4, r5
    bne receive
    b finish

send:
    bl ready
    ldr r0, [r7, #DATA]
    ldrb r1, [r6, r4]
    str r1, [r0]
    adds r4, r4, #1
    str r4, [r7, #COUNT]
    cmp r4, r5
    bne send
    b finish

sum:                       /* of LIMIT words from DATA on, modulo 2^32, into BEFORE */
    ldr r0, [r7, #DATA]
    movs r2, #0
sum_round:
    ldr r1, [r0]
    adds r2, r2, r1
    adds r0, r0, #4
    adds r4, r4, #1
    cmp r4, r5
    bne sum_round
    str r2, [r7, #BEFORE]
    str r4, [r7, #COUNT]

finish:
    ldr r0, [r7, #DONE]
    cmp r0, #0
    beq finished
    ldr r1, [r7, #DONE + 4]
    str r1, [r0]
finished:
    ldr r0, =0x0000D04E
    str r0, [r7, #STATE]
over:                      /* awake: a probe that comes back may not find a core that sleeps */
    b over

ready:
    ldr r0, [r7, #STATUS]
    cmp r0, #0
    beq is_ready
    ldr r1, [r7, #STATUS_MASK]
    ldr r2, [r7, #STATUS_FLIP]
poll:
    ldr r3, [r0]
    eors r3, r3, r2
    tst r3, r1
    beq poll
is_ready:
    bx lr

settle:
    ldr r0, [r7, #SETTLE]
settle_round:
    subs r0, r0, #1
    bpl settle_round
    bx lr

    .ltorg
