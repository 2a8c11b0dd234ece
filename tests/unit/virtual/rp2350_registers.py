"""Registers of the RP2350 as the SDK's generated headers (pico-sdk, src/rp2350/hardware_regs) state them.

For each block: offset, bits of all fields, and reset value of every register, in hexadecimal; a dash where the header has no
reset value. Taken from those headers by a script, not from the model.
"""

from __future__ import annotations

HEADERS = {
    "RESETS": ("0:1fffffff:1fffffff 4:1fffffff:0 8:1fffffff:0"),
    "PSM": ("0:1ffffff:0 4:1ffffff:0 8:1ffffff:0 c:1ffffff:0"),
    "TICKS": (
        "0:3:0 4:1ff:0 8:1ff:- c:3:0 10:1ff:0 14:1ff:- 18:3:0 1c:1ff:0 20:1ff:- 24:3:0 28:1ff:0 2c:1ff:- "
        "30:3:0 34:1ff:0 38:1ff:- 3c:3:0 40:1ff:0 44:1ff:-"
    ),
    "WATCHDOG": (
        "0:c7ffffff:7000000 4:ffffff:0 8:3:0 c:ffffffff:0 10:ffffffff:0 14:ffffffff:0 18:ffffffff:0 "
        "1c:ffffffff:0 20:ffffffff:0 24:ffffffff:0 28:ffffffff:0"
    ),
    "TIMER0": (
        "0:ffffffff:0 4:ffffffff:0 8:ffffffff:0 c:ffffffff:0 10:ffffffff:0 14:ffffffff:0 18:ffffffff:0 "
        "1c:ffffffff:0 20:f:0 24:ffffffff:0 28:ffffffff:0 2c:6:7 30:1:0 34:1:0 38:1:0 3c:f:0 40:f:0 44:f:0 "
        "48:f:0"
    ),
    "XOSC": ("0:ffffff:0 4:81001003:0 8:ffffffff:- c:103fff:0 10:ffff:0"),
    "ROSC": (
        "0:ffffff:aa0 4:ffff77ff:88 8:ffff7777:0 c:ffffffff:3f04b16d 10:ffffffff:- 14:ffff:- 18:fff:8 "
        "1c:81011000:0 20:1:1 24:ffff:0"
    ),
    "PLL_SYS": ("0:c000013f:1 4:2d:2d 8:fff:0 c:77000:77000 10:1:0 14:1:0 18:1:0 1c:1:0"),
    "SYSINFO": ("0:ffffffff:1 4:1:0 8:1f:0 14:ffffffff:-"),
    "XIP": ("0:ffb:83 8:6:2 c:ffffffff:0 10:ffffffff:0 14:fffffffc:0 18:3fffff:0 1c:ffffffff:0"),
    "QMI": (
        "0:ffdf7ccf:1800000 4:1fffff:0 8:ffff:0 c:f3fff7ff:40000004 10:1007d3ff:1000 14:ffff:a003 "
        "18:1007d3ff:1000 1c:ffff:a002 20:f3fff7ff:40000004 24:1007d3ff:1000 28:ffff:a003 2c:1007d3ff:1000 "
        "30:ffff:a002 34:7ff0fff:4000000 38:7ff0fff:4000400 3c:7ff0fff:4000800 40:7ff0fff:4000c00 "
        "44:7ff0fff:4000000 48:7ff0fff:4000400 4c:7ff0fff:4000800 50:7ff0fff:4000c00"
    ),
    "CLOCKS": (
        "0:10131de0:0 4:ffffffff:10000 8:1:1 c:10131de0:0 10:ffffffff:10000 14:1:1 18:10131de0:0 "
        "1c:ffffffff:10000 20:1:1 24:10131de0:0 28:ffffffff:10000 2c:1:1 30:63:0 34:ff0000:10000 38:f:1 "
        "3c:e1:41 40:ffffffff:10000 44:3:1 48:10000ce0:0 4c:30000:10000 50:1:1 54:10130ce0:0 58:30000:10000 "
        "5c:1:1 60:10130ce0:0 64:f0000:10000 68:1:1 6c:10130ce0:0 70:f0000:10000 74:1:1 78:3:0 7c:3:0 80:3:0 "
        "84:111ff:ff 88:1:0 8c:fffff:0 90:1ffffff:0 94:1ffffff:1ffffff 98:7:1 9c:f:8 a0:ff:0 a4:11111111:0 "
        "a8:3fffffff:0 ac:ffffffff:ffffffff b0:7fffffff:7fffffff b4:ffffffff:ffffffff b8:7fffffff:7fffffff "
        "bc:ffffffff:0 c0:7fffffff:0 c4:1:0 c8:1:0 cc:1:0 d0:1:0"
    ),
    "ACCESSCTRL": (
        "0:f:4 4:2:0 8:1:0 c:ffffffff:0 10:ff00ffff:0 14:ff:ff 18:ff:ff 1c:ff:ff 20:ff:ff 24:ff:ff 28:ff:ff "
        "2c:ff:ff 30:ff:ff 34:ff:ff 38:ff:ff 3c:ff:ff 40:ff:ff 44:ff:fc 48:ff:fc 4c:ff:fc 50:ff:fc 54:ff:fc "
        "58:ff:b8 5c:ff:b8 60:ff:ff 64:ff:fc 68:ff:fc 6c:ff:fc 70:ff:fc 74:ff:fc 78:ff:fc 7c:ff:fc 80:ff:fc "
        "84:ff:fc 88:ff:fc 8c:ff:fc 90:ff:fc 94:ff:fc 98:ff:fc 9c:ff:fc a0:ff:fc a4:ff:fc a8:ff:fc ac:ff:fc "
        "b0:ff:b8 b4:ff:b8 b8:ff:f8 bc:ff:b8 c0:ff:b8 c4:ff:b8 c8:ff:b8 cc:ff:b8 d0:ff:b8 d4:ff:b8 d8:ff:b8 "
        "dc:ff:b8 e0:ff:b8 e4:ff:b8 e8:ff:f8"
    ),
    "PADS_BANK0": (
        "0:1:0 4:1ff:116 8:1ff:116 c:1ff:116 10:1ff:116 14:1ff:116 18:1ff:116 1c:1ff:116 20:1ff:116 "
        "24:1ff:116 28:1ff:116 2c:1ff:116 30:1ff:116 34:1ff:116 38:1ff:116 3c:1ff:116 40:1ff:116 44:1ff:116 "
        "48:1ff:116 4c:1ff:116 50:1ff:116 54:1ff:116 58:1ff:116 5c:1ff:116 60:1ff:116 64:1ff:116 68:1ff:116 "
        "6c:1ff:116 70:1ff:116 74:1ff:116 78:1ff:116 7c:1ff:116 80:1ff:116 84:1ff:116 88:1ff:116 8c:1ff:116 "
        "90:1ff:116 94:1ff:116 98:1ff:116 9c:1ff:116 a0:1ff:116 a4:1ff:116 a8:1ff:116 ac:1ff:116 b0:1ff:116 "
        "b4:1ff:116 b8:1ff:116 bc:1ff:116 c0:1ff:116 c4:1ff:5a c8:1ff:5a"
    ),
    "PADS_QSPI": ("0:1:0 4:1ff:156 8:1ff:156 c:1ff:156 10:1ff:15a 14:1ff:15a 18:1ff:15a"),
    "IO_BANK0": (
        "0:4022200:0 4:3003f01f:1f 8:4022200:0 c:3003f01f:1f 10:4022200:0 14:3003f01f:1f 18:4022200:0 "
        "1c:3003f01f:1f 20:4022200:0 24:3003f01f:1f 28:4022200:0 2c:3003f01f:1f 30:4022200:0 34:3003f01f:1f "
        "38:4022200:0 3c:3003f01f:1f 40:4022200:0 44:3003f01f:1f 48:4022200:0 4c:3003f01f:1f 50:4022200:0 "
        "54:3003f01f:1f 58:4022200:0 5c:3003f01f:1f 60:4022200:0 64:3003f01f:1f 68:4022200:0 6c:3003f01f:1f "
        "70:4022200:0 74:3003f01f:1f 78:4022200:0 7c:3003f01f:1f 80:4022200:0 84:3003f01f:1f 88:4022200:0 "
        "8c:3003f01f:1f 90:4022200:0 94:3003f01f:1f 98:4022200:0 9c:3003f01f:1f a0:4022200:0 a4:3003f01f:1f "
        "a8:4022200:0 ac:3003f01f:1f b0:4022200:0 b4:3003f01f:1f b8:4022200:0 bc:3003f01f:1f c0:4022200:0 "
        "c4:3003f01f:1f c8:4022200:0 cc:3003f01f:1f d0:4022200:0 d4:3003f01f:1f d8:4022200:0 dc:3003f01f:1f "
        "e0:4022200:0 e4:3003f01f:1f e8:4022200:0 ec:3003f01f:1f f0:4022200:0 f4:3003f01f:1f f8:4022200:0 "
        "fc:3003f01f:1f 100:4022200:0 104:3003f01f:1f 108:4022200:0 10c:3003f01f:1f 110:4022200:0 "
        "114:3003f01f:1f 118:4022200:0 11c:3003f01f:1f 120:4022200:0 124:3003f01f:1f 128:4022200:0 "
        "12c:3003f01f:1f 130:4022200:0 134:3003f01f:1f 138:4022200:0 13c:3003f01f:1f 140:4022200:0 "
        "144:3003f01f:1f 148:4022200:0 14c:3003f01f:1f 150:4022200:0 154:3003f01f:1f 158:4022200:0 "
        "15c:3003f01f:1f 160:4022200:0 164:3003f01f:1f 168:4022200:0 16c:3003f01f:1f 170:4022200:0 "
        "174:3003f01f:1f 178:4022200:0 17c:3003f01f:1f"
    ),
    "IO_QSPI": (
        "0:4022200:0 4:3003f01f:1f 8:4022200:0 c:3003f01f:1f 10:4022200:0 14:3003f01f:1f 18:4022200:0 "
        "1c:3003f01f:1f 20:4022200:0 24:3003f01f:1f 28:4022200:0 2c:3003f01f:1f 30:4022200:0 34:3003f01f:1f "
        "38:4022200:0 3c:3003f01f:1f"
    ),
    "UART0": (
        "0:fff:0 4:f:0 18:1ff:90 20:ff:0 24:ffff:0 28:3f:0 2c:ff:0 30:ff87:300 34:3f:12 38:7ff:0 3c:7ff:0 "
        "40:7ff:0 44:7ff:0 48:7:0 fe0:ff:11 fe4:ff:10 fe8:ff:34 fec:ff:0 ff0:ff:d ff4:ff:f0 ff8:ff:5 "
        "ffc:ff:b1"
    ),
    "DMA": (
        "0:ffffffff:0 4:ffffffff:0 8:ffffffff:0 c:e7ffffff:0 40:ffffffff:0 44:ffffffff:0 48:ffffffff:0 "
        "4c:e7ffffff:0 80:ffffffff:0 84:ffffffff:0 88:ffffffff:0 8c:e7ffffff:0 c0:ffffffff:0 c4:ffffffff:0 "
        "c8:ffffffff:0 cc:e7ffffff:0 100:ffffffff:0 104:ffffffff:0 108:ffffffff:0 10c:e7ffffff:0 "
        "140:ffffffff:0 144:ffffffff:0 148:ffffffff:0 14c:e7ffffff:0 180:ffffffff:0 184:ffffffff:0 "
        "188:ffffffff:0 18c:e7ffffff:0 1c0:ffffffff:0 1c4:ffffffff:0 1c8:ffffffff:0 1cc:e7ffffff:0 "
        "200:ffffffff:0 204:ffffffff:0 208:ffffffff:0 20c:e7ffffff:0 240:ffffffff:0 244:ffffffff:0 "
        "248:ffffffff:0 24c:e7ffffff:0 280:ffffffff:0 284:ffffffff:0 288:ffffffff:0 28c:e7ffffff:0 "
        "2c0:ffffffff:0 2c4:ffffffff:0 2c8:ffffffff:0 2cc:e7ffffff:0 300:ffffffff:0 304:ffffffff:0 "
        "308:ffffffff:0 30c:e7ffffff:0 340:ffffffff:0 344:ffffffff:0 348:ffffffff:0 34c:e7ffffff:0 "
        "380:ffffffff:0 384:ffffffff:0 388:ffffffff:0 38c:e7ffffff:0 3c0:ffffffff:0 3c4:ffffffff:0 "
        "3c8:ffffffff:0 3cc:e7ffffff:0 400:ffff:0 404:ffff:0 408:ffff:0 40c:ffff:0 414:ffff:0 418:ffff:0 "
        "41c:ffff:0 424:ffff:0 428:ffff:0 42c:ffff:0 434:ffff:0 438:ffff:0 43c:ffff:0 440:ffffffff:0 "
        "444:ffffffff:0 448:ffffffff:0 44c:ffffffff:0 450:ffff:0 454:fff:0 458:ffffffff:0 460:ffffff:0 "
        "464:ffff:0 468:1f:- 480:7:3 484:7:3 488:7:3 48c:7:3 490:7:3 494:7:3 498:7:3 49c:7:3 4a0:7:3 4a4:7:3 "
        "4a8:7:3 4ac:7:3 4b0:7:3 4b4:7:3 4b8:7:3 4bc:7:3 4c0:3:3 4c4:3:3 4c8:3:3 4cc:3:3 4d0:3ff:3ff 500:e:0 "
        "504:ffffffe0:0 508:ffffffe7:0 50c:ffffffe0:0 510:ffffffe7:0 514:ffffffe0:0 518:ffffffe7:0 "
        "51c:ffffffe0:0 520:ffffffe7:0 524:ffffffe0:0 528:ffffffe7:0 52c:ffffffe0:0 530:ffffffe7:0 "
        "534:ffffffe0:0 538:ffffffe7:0 53c:ffffffe0:0 540:ffffffe7:0 800:3f:0 804:ffffffff:0 840:3f:0 "
        "844:ffffffff:0 880:3f:0 884:ffffffff:0 8c0:3f:0 8c4:ffffffff:0 900:3f:0 904:ffffffff:0 940:3f:0 "
        "944:ffffffff:0 980:3f:0 984:ffffffff:0 9c0:3f:0 9c4:ffffffff:0 a00:3f:0 a04:ffffffff:0 a40:3f:0 "
        "a44:ffffffff:0 a80:3f:0 a84:ffffffff:0 ac0:3f:0 ac4:ffffffff:0 b00:3f:0 b04:ffffffff:0 b40:3f:0 "
        "b44:ffffffff:0 b80:3f:0 b84:ffffffff:0 bc0:3f:0 bc4:ffffffff:0"
    ),
    "BOOTRAM": (
        "800:ffffffff:0 804:ffffffff:0 808:ff:ff 80c:ffffffff:0 810:ffffffff:0 814:ffffffff:0 818:ffffffff:0 "
        "81c:ffffffff:0 820:ffffffff:0 824:ffffffff:0 828:ffffffff:0"
    ),
}
