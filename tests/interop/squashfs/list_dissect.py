#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints what dissect.squashfs finds in an image: one line for each name, with
its kind, its path, and the file's SHA-256 or the link's target."""
import hashlib
import sys

from dissect.squashfs import SquashFS


def lines(node, path):
    for child in node.iterdir():
        name = f"{path}{child.name}"
        if child.is_dir():
            yield f"d {name}"
            yield from lines(child, name + "/")
        elif child.is_file():
            digest = hashlib.sha256()
            with child.open() as data:
                while block := data.read(1 << 20):
                    digest.update(block)
            yield f"f {name} {digest.hexdigest()}"
        elif child.is_symlink():
            yield f"l {name} {child.link}"


with open(sys.argv[1], "rb") as image:
    for line in lines(SquashFS(image).get("/"), ""):
        print(line)
