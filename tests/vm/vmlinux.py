#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vmlinux.py BZIMAGE OUT: unpack the ELF kernel from a compressed one, so that the emulated
machine need not do it at every boot."""
import subprocess
import sys

PACKERS = (
    (b"\x02\x21\x4c\x18", ["lz4", "-dc"]),
    (b"\xfd7zXZ\x00", ["xz", "-dcq", "--single-stream"]),
    (b"\x28\xb5\x2f\xfd", ["zstd", "-dcq"]),
    (b"\x1f\x8b\x08", ["gzip", "-dcq"]),
)


def unpack(image):
    """Try every place that looks like the start of packed data until an ELF file comes out."""
    for magic, command in PACKERS:
        at = image.find(magic)
        while at >= 0:
            try:
                done = subprocess.run(command, input=image[at:], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, check=False)
            except FileNotFoundError:
                break
            if done.stdout[:4] == b"\x7fELF":
                return done.stdout
            at = image.find(magic, at + 1)
    sys.exit("vmlinux.py: found no packed kernel; is the unpacker (xz, zstd, lz4) installed?")


def main():
    with open(sys.argv[1], "rb") as file:
        image = file.read()
    with open(sys.argv[2], "wb") as file:
        file.write(unpack(image))


main()
