/* Constants of Arm's MPS2 with the image AN386 (a Cortex-M4), as QEMU's machine mps2-an386 models it. */
#pragma once

#include "armv7m_image.h"

#define BOARD_NAME "mps2-an386"
#define BOARD_RX_RING 8192u
