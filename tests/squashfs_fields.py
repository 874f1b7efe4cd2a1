# squashfs_fields.py - images with one wrong field, and each tool's verdict
# SPDX-License-Identifier: BSD-2-Clause
#
# squashfs_fields.py IMAGE tree    writes a tar archive of the tree to stdout
# squashfs_fields.py IMAGE fields  spoils each field of IMAGE in turn
# squashfs_fields.py IMAGE mutants SEED COUNT MAX_S
#                                  changes one random byte COUNT times
#
# IMAGE has uncompressed tables.  Verdicts are exit statuses: all tools must
# give the same one, and a message with 1.  For a named field, the verdict is
# known:
#   BAD       unsquashfs or Linux would refuse the image, a name or a file, or
#             would find something else than what the image says
#   DATA      as BAD, but only those who read the file's data can know
#   OVERLAP   harmless, but two files share a part of a block, which sqpack -o
#             cannot copy
#   HARMLESS  the reason is stated
# If unsquashfs is installed, it must not refuse what is called harmless.

import io, os, random, shutil, struct, subprocess, sys, tarfile, time

BAD, DATA, OVERLAP = "bad", "data", "overlap"
META, NONE, NO_TABLE = 8192, 0xffffffff, (1 << 64) - 1

# Why a wrong value is harmless.
FREE = "any value is valid, so a wrong one cannot be known"
HINT = "it only describes how the image was made; no reader depends on it"
UNUSED = "no reader uses it"
STAT = "it is only shown, as a link count or as the space used"
ROOM = "the count only limits; it is too high, but not impossible"
MANY = "many/%04d" + 236 * "."   # their listing needs an index
OPTION = "an image need not have the table"
NFS = "only NFS asks for a directory's parent, and only by '..'"


def tree():
    out = tarfile.open(fileobj=sys.stdout.buffer, mode="w|",
        format=tarfile.PAX_FORMAT)

    def add(name, data=None, kind=tarfile.REGTYPE, link="", xattrs=(), uid=0):
        t = tarfile.TarInfo(name)
        t.type, t.linkname, t.uid, t.gid = kind, link, uid, 2 * uid
        t.mode, t.mtime = 0o755, 1700000000
        t.devmajor, t.devminor = 1, 3
        t.size = len(data) if data else 0
        t.pax_headers = {"SCHILY.xattr." + k: v for k, v in xattrs}
        out.addfile(t, io.BytesIO(data) if data else None)

    color, long = ("user.color", "red"), ("user.long", "v" * 300)
    text = b"".join(b"%07d\n" % i for i in range(3000))
    add("blocks", text[:9000], uid=7)
    add("colored", text[100:9200], xattrs=[color])
    add("dir", kind=tarfile.DIRTYPE, xattrs=[color, ("user.two", "2")])
    add("dir/few", text[:20])
    add("dir/fifo", kind=tarfile.FIFOTYPE)
    add("dir/full", text[8192:16384])
    add("dir/zero", kind=tarfile.CHRTYPE)
    add("empty", kind=tarfile.DIRTYPE)
    add("few", text[:50])
    add("hard", kind=tarfile.LNKTYPE, link="few")
    add("link", kind=tarfile.SYMTYPE, link="dir/few", uid=7)
    add("many", kind=tarfile.DIRTYPE)
    for i in range(40):
        add(MANY % i)
    add("nothing")
    add("sub", kind=tarfile.DIRTYPE)
    add("sub/deep", kind=tarfile.DIRTYPE)
    add("sub/deep/last", text[:77], xattrs=[long])
    add("sub/other", text[:78], xattrs=[("user.copy", "v" * 300)])
    add("xdev", kind=tarfile.BLKTYPE, xattrs=[color])
    add("xfifo", kind=tarfile.FIFOTYPE, xattrs=[color])
    add("xlink", kind=tarfile.SYMTYPE, link="few", xattrs=[color])
    out.close()


class Table:
    """Metadata blocks, all uncompressed; at() converts to file offsets."""

    def __init__(self, image, start, end):
        self.start, self.data, self.offsets = start, b"", []
        self.headers, self.index = [], {}
        while start < end:
            n = image.u16(start)
            assert n & 0x8000, "a compressed block"
            n &= 0x7fff
            self.index[start - self.start] = len(self.data)
            self.headers.append(start)
            self.offsets.append((len(self.data), start + 2))
            self.data += image.data[start + 2:start + 2 + n]
            start += 2 + n
        assert start == end

    def at(self, pos):
        first, place = [o for o in self.offsets if o[0] <= pos][-1]
        return place + pos - first

    def find(self, block, offset):
        return self.index[block] + offset

    def block(self, pos):
        return max(b for b, p in self.index.items() if p <= pos)

    def past(self, block):
        """The offsets at a block's end and one byte beyond."""
        pos = self.index[block]
        n = min([p for p in self.index.values() if p > pos] +
            [len(self.data)]) - pos
        return n, n + 1

    def number(self, pos, size):
        return int.from_bytes(self.data[pos:pos + size], "little")


SUPER = {"magic": (0, 4), "inodes": (4, 4), "mtime": (8, 4), "block": (12, 4),
    "fragments": (16, 4), "compressor": (20, 2), "log": (22, 2),
    "flags": (24, 2), "ids": (26, 2), "major": (28, 2), "minor": (30, 2),
    "root": (32, 8), "used": (40, 8), "id_table": (48, 8),
    "xattr_table": (56, 8), "inode_table": (64, 8), "dir_table": (72, 8),
    "fragment_table": (80, 8), "export_table": (88, 8)}

HEAD = {"type": (0, 2), "mode": (2, 2), "uid": (4, 2), "gid": (6, 2),
    "mtime": (8, 4), "number": (12, 4)}
INODE = {
    1: {"start": (16, 4), "nlink": (20, 4), "size": (24, 2),
        "offset": (26, 2), "parent": (28, 4)},
    2: {"start": (16, 4), "fragment": (20, 4), "offset": (24, 4),
        "size": (28, 4)},
    3: {"nlink": (16, 4), "length": (20, 4)},
    4: {"nlink": (16, 4), "rdev": (20, 4)},
    6: {"nlink": (16, 4)},
    8: {"nlink": (16, 4), "size": (20, 4), "start": (24, 4),
        "parent": (28, 4), "indexes": (32, 2), "offset": (34, 2),
        "xattr": (36, 4)},
    9: {"start": (16, 8), "size": (24, 8), "sparse": (32, 8),
        "nlink": (40, 4), "fragment": (44, 4), "offset": (48, 4),
        "xattr": (52, 4)},
    10: {"nlink": (16, 4), "length": (20, 4)},
    11: {"nlink": (16, 4), "rdev": (20, 4), "xattr": (24, 4)},
    13: {"nlink": (16, 4), "xattr": (20, 4)}}
INODE[5], INODE[7], INODE[12], INODE[14] = (INODE[4], INODE[6], INODE[11],
    INODE[13])
FIXED = {1: 32, 2: 32, 3: 24, 4: 24, 5: 24, 6: 20, 7: 20, 8: 40, 9: 56,
    10: 24, 11: 28, 12: 28, 13: 24, 14: 24}


class Image:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        self.s = {k: self.number(*f) for k, f in SUPER.items()}
        s = self.s
        self.fragments_at = self.number(s["fragment_table"], 8)
        self.exports_at = self.number(s["export_table"], 8)
        self.ids_at = self.number(s["id_table"], 8)
        self.values_at = self.number(s["xattr_table"], 8)
        self.sets_at = self.number(s["xattr_table"] + 16, 8)
        self.inodes = Table(self, s["inode_table"], s["dir_table"])
        self.dirs = Table(self, s["dir_table"], self.fragments_at)
        self.values = Table(self, self.values_at, self.sets_at)
        self.nodes = {}          # name: position in the inode table
        self.entries = {}        # name: position in the listing
        self.heads = {}          # directory: positions of its headers
        self.walk("", self.inodes.find(s["root"] >> 16, s["root"] & 0xffff))

    def number(self, at, size):
        return int.from_bytes(self.data[at:at + size], "little")

    def u16(self, at):
        return self.number(at, 2)

    def type(self, name):
        return self.inodes.number(self.nodes[name], 2)

    def field(self, name, field):
        """The file offset, size and value of an inode's field."""
        pos, size = HEAD.get(field) or INODE[self.type(name)][field]
        pos += self.nodes[name]
        return self.inodes.at(pos), size, self.inodes.number(pos, size)

    def walk(self, name, node):
        t = self.dirs
        self.nodes[name] = node
        if self.type(name) not in (1, 8):
            return
        size = self.field(name, "size")[2] - 3
        self.heads[name] = []
        if size == 0:
            return
        pos = t.find(self.field(name, "start")[2],
            self.field(name, "offset")[2])
        end = pos + size
        while pos < end:
            self.heads[name].append(pos)
            count, block = t.number(pos, 4) + 1, t.number(pos + 4, 4)
            pos += 12
            for _ in range(count):
                n = t.number(pos + 6, 2) + 1
                child = t.data[pos + 8:pos + 8 + n].decode()
                child = child if name == "" else name + "/" + child
                self.entries[child] = pos
                node = self.inodes.find(block, t.number(pos, 2))
                pos += 8 + n
                self.walk(child, node)


def fields(m):
    """Yields name, verdict, [(file offset, size, value)...]."""
    s = m.s
    used = s["used"]

    def sup(name, verdict, *values):
        for v in values:
            yield ("superblock: %s %#x" % (name, v), verdict,
                [(*SUPER[name], v)])

    yield from sup("inodes", BAD, 0, 1, s["inodes"] - 1, s["inodes"] + 2000,
        NONE)
    yield from sup("inodes", BAD, s["inodes"] + 1)   # exports end earlier
    # nor is there an export table if the fragments end where the ids begin
    bare = [(*SUPER["export_table"], NO_TABLE), (*SUPER["fragment_table"],
        m.ids_at - 8), (m.ids_at - 8, 8, m.fragments_at)]
    yield "superblock: no export table", OPTION, bare
    yield "superblock: inodes, no export table", ROOM, bare + [
        (*SUPER["inodes"], s["inodes"] + 1)]
    yield from sup("mtime", FREE, 0, NONE)
    yield from sup("block", BAD, 0, 4095, 2048, 1 << 21)
    yield from sup("fragments", BAD, 0, s["fragments"] + 1, NONE)
    yield from sup("compressor", BAD, 0, 7, 99)
    yield from sup("log", BAD, 0, 11, 13, 99)
    for bit in range(16):
        # check bytes, and compressor options, which are not there
        verdict = BAD if bit in (2, 10) else HINT
        yield from sup("flags", verdict, s["flags"] ^ 1 << bit)
    yield from sup("ids", BAD, 0, s["ids"] - 1, s["ids"] + 1, 0xffff)
    yield from sup("major", BAD, 3, 5)
    yield from sup("minor", BAD, 1)
    yield from sup("root", BAD, 0, 9000, s["root"] + 1, s["root"] + (1 << 16),
        NO_TABLE)
    block = s["root"] >> 16
    for n in m.inodes.past(block):
        yield from sup("root", BAD, block << 16 | n)
    yield from sup("used", BAD, 0, 95, used - 1, used + 1, used + (1 << 20),
        1 << 63)
    yield from sup("id_table", BAD, 0, 96, s["id_table"] - 1,
        s["id_table"] + 1, used, NO_TABLE)
    yield from sup("xattr_table", BAD, 0, 96, s["xattr_table"] - 1,
        s["xattr_table"] + 1, used)
    # the ids then end before the image does
    yield from sup("xattr_table", BAD, NO_TABLE)
    yield from sup("inode_table", BAD, 0, s["inode_table"] + 1,
        s["dir_table"], used, NO_TABLE)
    yield from sup("dir_table", BAD, 0, s["inode_table"], s["dir_table"] + 1,
        used, NO_TABLE)
    yield from sup("fragment_table", BAD, 96, s["fragment_table"] + 1, used,
        NO_TABLE)
    yield from sup("export_table", BAD, 96, s["export_table"] + 1, used)
    # the fragments then end before the next table begins
    yield from sup("export_table", BAD, NO_TABLE)

    def node(name, field, verdict, *values):
        at, size, old = m.field(name, field)
        for v in values:
            v = v(old) if callable(v) else v
            yield ("inode type %d, /%s: %s %#x, not %#x" % (m.type(name),
                name, field, v, old), verdict, [(at, size, v)])

    kinds = ("", "dir", "empty", "many", "blocks", "colored", "few", "link",
        "nothing", "xlink", "xdev", "xfifo", "dir/zero", "dir/fifo")
    for name in kinds:
        kind = m.type(name)
        is_dir, is_file = kind in (1, 8), kind in (2, 9)
        yield from node(name, "type", BAD, 0, 15, lambda t: t ^ 1)
        yield from node(name, "mode", FREE, 0o7777)
        yield from node(name, "mode", BAD, 0o100644)
        yield from node(name, "uid", BAD, s["ids"])
        yield from node(name, "gid", BAD, 0xffff)
        yield from node(name, "uid", FREE, lambda i: (i + 1) % s["ids"])
        yield from node(name, "mtime", FREE, NONE)
        other = m.field("sub", "number")[2]
        yield from node(name, "number", BAD, 0, other, s["inodes"] + 1, NONE)
        if "nlink" in INODE[kind]:
            yield from node(name, "nlink", STAT, 0)
        if "parent" in INODE[kind]:
            yield from node(name, "parent", NFS, NONE)
        if "rdev" in INODE[kind]:
            yield from node(name, "rdev", FREE, NONE)
        if "sparse" in INODE[kind]:
            yield from node(name, "sparse", STAT, 1)
        if "xattr" in INODE[kind] and m.field(name, "xattr")[2] != NONE:
            yield from node(name, "xattr", BAD, 99, NONE - 1)
            yield from node(name, "xattr", FREE, NONE)
        if is_dir:
            listed = m.heads[name] != []
            if listed:
                yield from node(name, "start", BAD, 1, 1 << 31, NONE)
                yield from node(name, "offset", BAD, lambda o: o ^ 1, 8192,
                    0xffff, *m.dirs.past(m.field(name, "start")[2]))
            else:
                yield from node(name, "start", UNUSED, 1, 1 << 31)
                yield from node(name, "offset", UNUSED, 1, 8191)
            yield from node(name, "size", BAD, lambda n: n + 1,
                lambda n: n + 5000, 0xffff)
            if listed:
                yield from node(name, "size", BAD, lambda n: n - 1,
                    lambda n: n // 2)
        if kind == 8:
            yield from node(name, "indexes", BAD, lambda n: n + 1, 0xffff)
        if kind == 8 and name == "many":
            yield from node(name, "indexes", HINT, 0)
        if is_file:
            tail = m.field(name, "fragment")[2] != NONE
            blocks = m.field(name, "size")[2] >= 4096
            yield from node(name, "fragment", BAD, s["fragments"], NONE - 1)
            yield from node(name, "size", BAD, 1 << 31)
            if tail:
                yield from node(name, "offset", BAD, 4096, NONE)
                yield from node(name, "size", BAD, 4096 * 2)
            else:
                yield from node(name, "offset", UNUSED, 99)
            if blocks:
                yield from node(name, "start", BAD, used, 1 << 31)
                yield from node(name, "start", OVERLAP, lambda n: n + 1,
                    m.field("dir/full", "start")[2])
            else:
                yield from node(name, "start", UNUSED, 99)
        if "length" in INODE[kind]:
            yield from node(name, "length", BAD, 0, 4097, NONE,
                lambda n: n + 60000)

    # what follows the fixed part of an inode
    words = m.nodes["blocks"] + FIXED[m.type("blocks")]
    for v, verdict in ((1 << 25, BAD), (1 << 24 | 4097, BAD), (4097, BAD),
        (1 << 24 | 4095, DATA), (NONE, BAD)):
        yield ("block list: %#x" % v, verdict, [(m.inodes.at(words), 4, v)])
    target = m.nodes["link"] + FIXED[3]
    yield "link target: a NUL", BAD, [(m.inodes.at(target + 1), 1, 0)]
    yield "link target: another", FREE, [(m.inodes.at(target), 1, 99)]
    xlink = m.nodes["xlink"] + FIXED[10] + 3
    yield "link: xattr", BAD, [(m.inodes.at(xlink), 4, 99)]
    index = m.nodes["many"] + FIXED[8]
    for at, what in ((0, "position"), (4, "block"), (8, "length")):
        old = m.inodes.number(index + at, 4)
        for v in (old + 1, NONE):
            yield ("directory index: %s %#x" % (what, v), BAD,
                [(m.inodes.at(index + at), 4, v)])
    for v in (1, 0x7e):
        yield "directory index: name %#x" % v, BAD, [
            (m.inodes.at(index + 12), 1, v)]

    # listings
    def at(table, pos, size, name, verdict, *values):
        old = table.number(pos, size)
        for v in values:
            v = v(old) if callable(v) else v
            yield ("%s %#x, not %#x" % (name, v, old), verdict,
                [(table.at(pos), size, v & (1 << 8 * size) - 1)])

    for name in ("", "dir", "sub", "sub/deep"):
        head = m.heads[name][0]
        what = "listing of /%s: " % name
        yield from at(m.dirs, head, 4, what + "count", BAD, lambda n: n + 1,
            256, NONE)
        if m.dirs.number(head, 4) > 0:
            yield from at(m.dirs, head, 4, what + "count", BAD,
                lambda n: n - 1)
        yield from at(m.dirs, head + 4, 4, what + "block", BAD,
            lambda b: b + 1, 8194 * 40, NONE)
        yield from at(m.dirs, head + 8, 4, what + "number", BAD, 0,
            lambda n: n + 1, NONE)
    for name in ("blocks", "dir", "hard", "link", "dir/zero", "xfifo"):
        pos = m.entries[name]
        what = "entry of /%s: " % name
        yield from at(m.dirs, pos, 2, what + "offset", BAD, lambda n: n ^ 1,
            8191, 0xffff, *m.inodes.past(m.inodes.block(m.nodes[name])))
        yield from at(m.dirs, pos + 2, 2, what + "number", BAD,
            lambda n: n + 1, lambda n: n - 1, 0x8000)
        yield from at(m.dirs, pos + 4, 2, what + "type", BAD, 0, 8, 99,
            lambda t: t % 7 + 1, lambda t: t + 7)
        yield from at(m.dirs, pos + 6, 2, what + "length", BAD, 0, 300,
            0xffff, lambda n: n + 1)
        for c in "/\0":
            yield from at(m.dirs, pos + 8, 1, what + "name", BAD, ord(c))

    def rename(old, new, verdict, what):
        new = new.encode()
        pos = m.entries[old] + 8
        assert m.dirs.number(pos - 2, 2) + 1 == len(new)
        return what, verdict, [(m.dirs.at(pos + i), 1, b)
            for i, b in enumerate(new)]

    yield rename("few", "hard"[:3], FREE, "another name, still sorted")
    yield rename("few", "zzz", BAD, "a name that is not in order")
    yield rename("xfifo", "xlink", BAD, "two names that are the same")
    yield rename("few", "a/b", BAD, "a slash in a name of the root")
    yield rename("sub/other", "deep\0", BAD, "a NUL in a name")
    swap = m.entries[MANY % 10] + 8 + 2
    yield "two names swapped", BAD, [(m.dirs.at(swap), 1, ord("2"))]

    def refer(name, other, verdict, what):
        """Makes an entry refer to another's inode, with its number."""
        pos, to = m.entries[name], m.entries[other]
        number = m.field(other, "number")[2] - m.field(name, "number")[2] + \
            struct.unpack("<h", m.dirs.data[pos + 2:pos + 4])[0]
        return what, verdict, [(m.dirs.at(pos), 2, m.dirs.number(to, 2)),
            (m.dirs.at(pos + 2), 2, number & 0xffff),
            (m.dirs.at(pos + 4), 2, m.dirs.number(to + 4, 2))]

    yield refer("few", "nothing", FREE, "a name of another file's inode")
    yield refer("sub", "dir", BAD, "a directory with two parents")
    root = m.s["root"]
    pos = m.entries["sub/deep"]
    yield "a directory in itself", BAD, [
        (m.dirs.at(m.heads["sub"][0] + 4), 4, root >> 16),
        (m.dirs.at(pos), 2, root & 0xffff)]
    number = m.field("few", "number")[2]
    pos = m.entries["nothing"]
    yield "a second inode with a number", BAD, [
        (m.field("nothing", "number")[0], 4, number),
        (m.dirs.at(pos + 2), 2, m.dirs.number(pos + 2, 2) + number -
            m.field("nothing", "number")[2] & 0xffff)]
    yield "a directory with a file's number", BAD, [
        (m.field("empty", "number")[0], 4, number),
        (m.dirs.at(m.entries["empty"] + 2), 2,
            m.dirs.number(m.entries["empty"] + 2, 2) + number -
            m.field("empty", "number")[2] & 0xffff)]

    # tables behind the listings: pointers, headers of blocks, entries
    def raw(pos, size, name, verdict, *values):
        old = m.number(pos, size)
        for v in values:
            v = v(old) if callable(v) else v
            yield ("%s %#x, not %#x" % (name, v, old), verdict,
                [(pos, size, v & (1 << 8 * size) - 1)])

    for name, index, block in (
        ("fragment", s["fragment_table"], m.fragments_at),
        ("export", s["export_table"], m.exports_at),
        ("id", s["id_table"], m.ids_at),
        ("xattr set", s["xattr_table"] + 16, m.sets_at)):
        yield from raw(index, 8, name + " table: pointer", BAD, 0,
            lambda p: p + 1, lambda p: p - 1, used, NO_TABLE)
        yield from raw(block, 2, name + " table: block header", BAD, 0,
            lambda h: h & 0x7fff, lambda h: h - 8, 0xffff)
    for name, table in (("inode", m.inodes), ("directory", m.dirs),
        ("xattr", m.values)):
        for k, header in enumerate(table.headers):
            yield from raw(header, 2, "%s table: header of block %d" %
                (name, k), BAD, 0, lambda h: h & 0x7fff, lambda h: h - 8,
                0xffff)
    g = m.fragments_at + 2
    yield from raw(g, 8, "fragment: start", BAD, 0, used, 1 << 63)
    yield from raw(g + 8, 4, "fragment: size", BAD, 0, 1 << 25, 1 << 24,
        1 << 24 | 4097, NONE)
    yield from raw(g + 12, 4, "fragment: unused", UNUSED, NONE)
    for n in (1, 50, s["inodes"]):
        yield from raw(m.exports_at + 2 + 8 * (n - 1), 8, "export %d" % n, BAD,
            lambda r: r + 1, NO_TABLE)
    yield from raw(m.ids_at + 2, 4, "id", FREE, 0, 1234, NONE)
    x = s["xattr_table"]
    sets = m.number(x + 8, 4)
    yield from raw(x, 8, "xattr table: start", BAD, 0, lambda n: n + 1,
        m.sets_at, NO_TABLE)
    yield from raw(x + 8, 4, "xattr table: sets", BAD, 0, lambda n: n + 1,
        lambda n: n - 1, NONE)
    yield from raw(x + 12, 4, "xattr table: unused", UNUSED, NONE)
    for k in range(sets):
        p = m.sets_at + 2 + 16 * k
        yield from raw(p, 8, "xattr set %d: reference" % k, BAD,
            lambda r: r + 3, lambda r: r + (1 << 16), 8191, NO_TABLE)
        yield from raw(p + 8, 4, "xattr set %d: count" % k, BAD, 0,
            lambda n: n + 40, NONE)
        yield from raw(p + 12, 4, "xattr set %d: size" % k, STAT, 0, NONE)
    yield from at(m.values, 0, 2, "xattr: type", BAD, 3, 0xff, 0x100)
    yield from at(m.values, 2, 2, "xattr: name length", BAD, 0, 300, 0xffff)
    yield from at(m.values, 4, 1, "xattr: name", BAD, 0)
    n = m.values.number(2, 2)
    yield from at(m.values, 4 + n, 4, "xattr: value length", BAD, 1 << 17,
        NONE)


def harmless(verdict):
    return verdict not in (BAD, DATA, OVERLAP)


def expect(verdict, tool):
    return int(verdict == BAD or (verdict == DATA and tool not in NO_DATA) or
        (verdict == OVERLAP and tool == "-o"))


FAR = "sub/deep/last"
TASKS = (("coldwalk", ["coldwalk", "-p2", "spoilt"]),
    ("-l", ["sqpack", "-l", "-p2", "spoilt"]),
    ("-x", ["sqpack", "-x", "out", "-p2", "-q", "spoilt"]),
    ("--cat", ["sqpack", "--cat", FAR, "spoilt"]),
    ("-o", ["sqpack", "-f", "-q", "-p2", "-F", "none", "-o", "image",
        "spoilt"]),
    ("--rebuild-check", ["sqpack", "--rebuild-check", "-p2", "spoilt"]))
# these do not read all data
NO_DATA = ("-l", "--cat")


def start(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def verdicts():
    """Each tool's verdict on the image spoilt, and the messages."""
    shutil.rmtree("out", ignore_errors=True)
    tools = [start(command) for _, command in TASKS]
    got, said = {}, {}
    for (name, _), tool in zip(TASKS, tools):
        out, err = tool.communicate(timeout=300)
        rc = tool.returncode
        if name == "--rebuild-check" and rc == 1 and not err and \
            out.startswith(b"different: "):
            rc, err = 0, b""     # intact, although not what sqpack writes
        got[name], said[name] = rc, err
    return got, said


def refused():
    """Whether unsquashfs refuses to list the image."""
    tool = start([UNSQUASHFS, "-lln", "spoilt"])
    err = tool.communicate(timeout=300)[1]
    return tool.returncode != 0 or b"corrupt" in err.lower()


UNSQUASHFS = os.environ.get("UNSQUASHFS") or shutil.which("unsquashfs")


def spoil(image, changes):
    data = bytearray(image)
    for at, size, value in changes:
        data[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size,
            "little")
    open("spoilt", "wb").write(data)
    return bytes(data) != image


def complain(wrong, name, what, said):
    wrong.append(name)
    print("#", name + ":", what)
    for tool, err in said.items():
        for line in err.decode(errors="replace").splitlines()[:2]:
            print("#    %s: %s" % (tool, line))


def run_fields(path):
    m, wrong, tried, reasons = Image(path), [], 0, {}
    shutil.copy(path, "spoilt")
    got, said = verdicts()
    if any(got.values()):
        complain(wrong, "the whole image", got, said)
    if UNSQUASHFS and refused():
        complain(wrong, "the whole image", "unsquashfs", {})
    seen = set()
    for name, verdict, changes in fields(m):
        if name in seen or not spoil(m.data, changes):
            continue
        seen.add(name)
        tried += 1
        got, said = verdicts()
        want = {t: expect(verdict, t) for t, _ in TASKS}
        if got != want:
            complain(wrong, name, "want %s, got %s" % (verdict, got), said)
        if any(rc == 1 and not said[t] for t, rc in got.items()):
            complain(wrong, name, "no message", said)
        if harmless(verdict):
            reasons[verdict] = reasons.get(verdict, 0) + 1
            if UNSQUASHFS and refused():
                complain(wrong, name, "unsquashfs refuses it", said)
    for reason, count in sorted(reasons.items()):
        print("# %d harmless: %s" % (count, reason))
    print("#", tried, "fields,", len(wrong), "wrong")
    return wrong or tried < 300


def run_mutants(path, seed, count, limit):
    image, chance = open(path, "rb").read(), random.Random(seed)
    first = Image(path).s["inode_table"]
    last = Image(path).s["used"]
    wrong, bad, end = [], 0, time.monotonic() + limit
    for tried in range(count):
        if time.monotonic() > end:
            print("# stopped after", tried)
            break
        at = chance.choice((chance.randrange(96),
            chance.randrange(first, last), chance.randrange(first, last)))
        value = chance.choice((0, 1, 0x7f, 0x80, 0xff,
            image[at] ^ 1 << chance.randrange(8)))
        # a file without the magic number is no image
        if at < 4 or not spoil(image, [(at, 1, value)]):
            continue
        name = "byte %d: %#x, not %#x" % (at, value, image[at])
        got, said = verdicts()
        by_data = got["-x"] == 1 and got["-l"] == 0
        low = {t for t in got if got[t] == 0}
        alike = len(low) in (0, len(got)) or (by_data and
            low <= set(NO_DATA)) or (len(low) == len(got) - 1 and
            (b"blocks overlap" in said["-o"] or
            b"two different blocks" in said["-o"]))
        if set(got.values()) - {0, 1} or not alike:
            complain(wrong, name, got, said)
        elif got["coldwalk"] == 0 and UNSQUASHFS and refused():
            complain(wrong, name, "unsquashfs refuses it", said)
        bad += got["coldwalk"]
    print("#", bad, "bad,", len(wrong), "wrong")
    return wrong or bad == 0


if sys.argv[2] == "tree":
    tree()
elif sys.argv[2] == "fields":
    sys.exit(bool(run_fields(sys.argv[1])))
else:
    sys.exit(bool(run_mutants(sys.argv[1], *map(int, sys.argv[3:6]))))
