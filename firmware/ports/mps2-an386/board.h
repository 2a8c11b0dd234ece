/* Constants of Arm's MPS2 with the image AN386 (a Cortex-M4), as QEMU's machine mps2-an386 models it. */
#ifndef BOARD_H
#define BOARD_H

#define BOARD_RX_RING 8192u

#endif
