/* Constants of Arm's MPS2 with the image AN500 (a Cortex-M7), as QEMU's machine mps2-an500 models it. */
#pragma once

#include "armv7m_image.h"

#define BOARD_NAME "mps2-an500"
#define BOARD_RX_RING 8192u
