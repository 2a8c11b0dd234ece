/* Constants of Arm's MPS2 with the image AN385 (a Cortex-M3), as QEMU's machine mps2-an385 models it. The code is that
   of a Cortex-M0+, whose instructions a Cortex-M3 has all. */
#pragma once

#include "armv7m_image.h"

#define BOARD_NAME "mps2-an385"
#define BOARD_RX_RING 4096u
