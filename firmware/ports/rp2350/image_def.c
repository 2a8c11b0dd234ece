/* What the boot ROM looks for in the first 4 KB of the flash: one block that says that this is a program for the Arm
   cores of an RP2350 in the Secure state. Nothing in it says where the program begins: then it is by the vector table
   at the start of the flash, with no limit of the stack (RP2350 data sheet, metadata block details; the boot ROM's
   source, varm_launch_image.c). The numbers are also in the Pico SDK, picobin.h. */
#include <stdint.h>

#define BLOCK_MARKER_START 0xFFFFDED3u
#define BLOCK_MARKER_END 0xAB123579u

/* An item begins with its type and its size in words, and ends with what it says. */
#define ITEM_IMAGE_TYPE (0x42u | 1u << 8)
#define ITEM_LAST(words) (0xFFu | (words) << 8) /* of all items before it */

#define IMAGE_TYPE_EXECUTABLE (1u << 0)
#define IMAGE_TYPE_SECURE (2u << 4)
#define IMAGE_TYPE_ARM (0u << 8)
#define IMAGE_TYPE_RP2350 (1u << 12)

#define NEXT_BLOCK 0u /* bytes from here: this is the only one */

__attribute__((section(".image_def"), used)) static const uint32_t image_def[] = {
    BLOCK_MARKER_START,
    ITEM_IMAGE_TYPE | (IMAGE_TYPE_EXECUTABLE | IMAGE_TYPE_SECURE | IMAGE_TYPE_ARM | IMAGE_TYPE_RP2350) << 16,
    ITEM_LAST(1u),
    NEXT_BLOCK,
    BLOCK_MARKER_END,
};
