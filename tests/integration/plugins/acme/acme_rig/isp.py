"""Program an Acme through the serial port: `P`, the size, then the image; the boot loader answers `K`."""

from hil.errors import Blocked


class Isp:
    name = "acme-isp"

    def __init__(self, port):
        self._port = port

    def program(self, image, always=False):
        data = b"".join(part for _, part in image.flashed)
        self._port.write(b"P" + len(data).to_bytes(4, "little") + data)
        answers = (self._port.read(1) for _ in range(500))  # each waits for a moment only, and the stand-in may be slow
        if next(filter(None, answers), b"") != b"K":
            raise Blocked("flash", "the boot loader of the Acme does not answer: reset it, and run again.")
        return True


def route(flashing):
    return Isp(flashing.port())
