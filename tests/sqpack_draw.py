#!/usr/bin/env python3
# sqpack_draw.py - option sets drawn at random, given to sqpack as mksquashfs
# and to mksquashfs itself
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: sqpack_draw.py MKSQUASHFS OURS UNSQUASHFS SEED COUNT
#
# Both make an image of the same tree.  The images must be identical, except
# with gzip, whose encoder is our own: there, and with an older mksquashfs, the
# trees are compared as UNSQUASHFS -pf writes them.  Prints TAP, without a plan.
import os
import random
import re
import subprocess
import sys

peer, ours, reader, seed, count = (sys.argv[1], sys.argv[2], sys.argv[3],
                                   int(sys.argv[4]), int(sys.argv[5]))
EPOCH = 1700000000
os.environ["SOURCE_DATE_EPOCH"] = str(EPOCH)
os.environ["LC_ALL"] = "C"
# with -tar, mksquashfs 4.7.5 reads a field that it has not set: let it be 0
os.environ["GLIBC_TUNABLES"] = "glibc.malloc.perturb=255"


def version():
    out = subprocess.run([peer, "-version"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout.decode()
    m = re.search(r"version (\d+)\.(\d+)", out)
    return (int(m.group(1)), int(m.group(2))) if m else (0, 0)


new = version() >= (4, 7)


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def make_tree(rng):
    """Sizes about all block sizes; text, noise, zeros, holes and twins."""
    # varied, so that different blocks rarely shrink to the same size
    words = [rng.randbytes(rng.randrange(1, 9)).hex().encode() for _ in
             range(3000)]
    text = b" ".join(rng.choice(words[:rng.choice([40, 400, 3000])])
                     for _ in range(250000))
    noise = rng.randbytes(3 << 20)
    sizes = [0, 1, 7, 100, 4095, 4096, 4097, 8192, 10000, 65536, 70000,
             131071, 131072, 131073, 200000, 262144, 300001, 1048576, 1500000]
    for i in range(40):
        size = rng.choice(sizes)
        at = rng.randrange(1000)
        data = rng.choice([text, text, noise, bytes(2 << 20)])
        write("one/%s/f%d" % (rng.choice(["a", "b", "b/c"]), i),
              data[at:at + size])
    for i in range(160):
        write("one/tiny/t%d" % i, text[i * 37:][:rng.randrange(1, 600)])
    for i in range(12):         # equal blocks, different tails, and tails only
        write("one/tails/p%d" % i, noise[:131072 * (1 + i % 3)] +
              text[:50 + i % 4])
        write("one/tails/q%d" % i, noise[i << 17:][:131072] +
              text[:300 + i % 3])
        # 4.7.5 gives a small file that equals such a tail another's size
        write("one/tails/s%d" % i, text[:350 + i % 4])
        write("one/tails/z%d" % i, text[i:i + 131072] + bytes(50 + i % 4))
    with open("one/hole", "wb") as f:
        f.truncate(700000)
        f.seek(300000)
        f.write(b"data between holes")
        f.truncate(900001)
    with open("one/allhole", "wb") as f:
        f.truncate(400000)
    write("two/x", b"x" * 50)
    write("two/f1", text[:5000])
    write("three", text[:9000])
    write("elsewhere", text[5:9000])
    os.link("one/tiny/t1", "one/hard")
    os.link("one/tiny/t1", "one/zhard")
    os.symlink("tiny/t2", "one/link")
    os.mkfifo("one/fifo")
    os.makedirs("one/empty/deep/er")
    try:
        for path, name, value in [
                ("one/tiny/t3", "user.b", b"1" * 200),
                ("one/tiny/t3", "user.a", b"2"),
                ("one/tiny/t4", "user.b", b"1" * 200),
                ("one/a", "user.dir", bytes(range(256)) * 2)]:
            os.setxattr(path, name, value)
    except OSError:
        pass
    for top in ("one", "two", "three"):
        for dir, dirs, files in os.walk(top, topdown=False):
            for name in files + dirs:
                os.utime(os.path.join(dir, name), (1, EPOCH - 1000 -
                         rng.randrange(9999)), follow_symlinks=False)
        os.utime(top, (1, EPOCH - 500))


def draw(rng):
    """Returns sources, options, and whether an archive is the input."""
    o = []
    # a short run has no time for slow compressors
    comp = rng.choice(["xz", "lzo", "zstd", "zstd", "lz4", "lz4", "gzip"]
                      if count > 20 else ["lz4", "zstd"])
    o += ["-comp", comp]
    block = rng.choice(["4K", "16K", "128K", "128K", "1M"])
    o += ["-b", block]
    if comp == "zstd" or rng.random() < .3 and comp in ("gzip", "lzo"):
        o += ["-Xcompression-level",
              str(rng.randrange(1, 8 if count > 20 else 3))]
    if comp == "lz4" and rng.random() < .4:
        o += ["-Xhc"]
    if comp == "xz" and rng.random() < .3:
        o += ["-Xbcj", rng.choice(["x86", "arm", "x86,ia64", "sparc"])]
    if comp == "xz" and rng.random() < .3 and block in ("128K", "1M"):
        o += ["-Xdict-size", rng.choice(["50%", "32K", "75%", "100%"])]

    def maybe(p, *words):
        if rng.random() < p:
            o.extend(words)

    o.extend(rng.choice([[], [], ["-no-fragments"],
                         ["-always-use-fragments"]]))
    maybe(.2, "-no-duplicates")
    maybe(.2, "-no-sparse")
    for word in ("-noI", "-noId", "-noD", "-noF", "-noX"):
        maybe(.08, word)
    maybe(.2, "-all-root")
    maybe(.1, "-force-uid", "77")
    maybe(.1, "-force-gid", "4000000000")
    maybe(.1, "-root-mode", "711")
    maybe(.1, "-root-uid", "5")
    maybe(.15, "-no-exports")
    maybe(.15, "-nopad")
    maybe(.1, "-offset", "5K")
    sources = rng.choice([["one"]] * 6 + [["one", "two"], ["three", "one"],
                                          ["two", "three"]])
    tar = sources == ["one"] and rng.random() < .12
    if not new:                 # which does not clamp the time of the root
        o += ["-root-time", "5"]
    maybe(.1, "-keep-as-directory") if not tar else None
    maybe(.1, "-no-hardlinks") if not tar else None
    if rng.random() < .25:
        o += ["-no-xattrs"]
    elif new:
        maybe(.15, "-xattrs-add", "user.added=0x0a0b")
        maybe(.15, "-xattrs-exclude", "^user.a")
        maybe(.15, "-xattrs-include", "^user")
    if new:
        maybe(.1, "-uid-gid-offset", "1000")
        maybe(.1, "-force-file-mode", rng.choice(["640", "u=rw,go=r",
                                                  "a+X,o-r"]))
        maybe(.1, "-force-dir-mode", rng.choice(["750", "go-w", "u+s"]))
        maybe(.1, "-mkfs-time", "inode")
        maybe(.1, "-all-time", "inode")
        maybe(.1, "-no-compression")
        maybe(.07, "-max-depth", "2") if not tar else None
        maybe(.07, "-pseudo-override")
    if rng.random() < .15:
        o += ["-p", "new d 755 3 4", "-p", "new/c c 600 0 0 5 1",
              "-p", "new/s S 1600000000 777 1 2 to a place",
              "-p", "new/i I 1600000001 700 0 9 f"]
        if not tar:
            o += ["-p", "new/f F 1600000002 644 1 1 seq 300",
                  "-p", "/tiny/t5 M 1600000003 4755 8 9"][:6 if len(sources) > 1
                                                          or "-keep-as-" in
                                                          " ".join(o) else 4]
            if sources != ["one"] or "-keep-as-directory" in o or \
                    "-max-depth" in o:
                del o[-2:]
        if new:
            o += ["-p", "new/c x trusted.why=0tsome\\040text"]
            if not tar:
                o += ["-p", "new/l l elsewhere", "-p", "new/L L new/i"]
    if rng.random() < .15 and not tar:
        with open("order", "w") as f:
            f.write("one/tiny 5\none/b -3\none/tiny/t7 9\n"
                    if sources != ["one"] else "tiny 5\nb -3\ntiny/t7 9\n")
        if sources == ["one"]:
            o += ["-sort", "order"]
    what = rng.random()
    if what < .1:
        o += ["-wildcards", "-e", "t*/t1*", "... f3"]
    elif what < .2 and not tar and "/tiny/t5 M" not in " ".join(o):
        o += ["-e", "tiny", "b/c"]
    elif what < .25:
        o += ["-regex", "-e", "^t.*/[0-9]$"]
    return sources, o, tar


def build(program, image, sources, options, tar):
    if os.path.exists(image):
        os.remove(image)
    line = [program] + (["-"] if tar else sources) + [image]
    # mksquashfs opens the image before it reads its options
    line += ["-noappend", "-no-progress", "-quiet"]
    line += (["-tar"] if tar else []) + options
    stdin = open("one.tar", "rb") if tar else subprocess.DEVNULL
    r = subprocess.run(line, stdin=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    return r.returncode, r.stdout.decode("utf-8", "replace"), line


def listing(image, options):
    at = "5120" if "-offset" in options else "0"
    r = subprocess.run([reader, "-n", "-o", at, "-pf", "-", image],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if r.returncode != 0:
        return r.stderr
    # whether zeros are holes depends on the order of files
    return re.sub(rb"( R .*) [01]\n", rb"\1\n", r.stdout)


def describe(image, options):
    at = "5120" if "-offset" in options else "0"
    r = subprocess.run([reader, "-o", at, "-s", image],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return "; ".join(line for line in r.stdout.decode().splitlines()[2:])


make_tree(random.Random(seed))
subprocess.run(["tar", "--sort=name", "--xattrs", "-cf", "one.tar", "-C",
                "one", "."], check=True, stderr=subprocess.DEVNULL)
same = 0
failed = 0
for k in range(count):
    rng = random.Random(seed * 100000 + k)
    sources, options, tar = draw(rng)
    a, aout, line = build(peer, "theirs", sources, options, tar)
    b, bout, line = build(ours, "ours", sources, options, tar)
    name = " ".join(line[1:])
    exact = "gzip" not in options and new
    why = ""
    if a != 0 and b != 0:
        pass
    elif a != b:
        why = "status %d, theirs %d: %s" % (b, a, (bout if b else aout)[-300:])
    elif exact:
        with open("theirs", "rb") as f, open("ours", "rb") as g:
            x, y = f.read(), g.read()
        if x == y:
            same += 1
        else:
            at = next((i for i in range(min(len(x), len(y)))
                       if x[i] != y[i]), min(len(x), len(y)))
            why = "differ at byte %d of %d and %d: %s # %s" % (
                at, len(y), len(x), describe("ours", options),
                describe("theirs", options))
    elif listing("theirs", options) != listing("ours", options):
        why = "the trees differ"
    failed += why != ""
    print("%s %d - %s" % ("not ok" if why else "ok", k + 1, name))
    if why:
        print("# " + why)
    sys.stdout.flush()
print("# %d identical images" % same)
sys.exit(failed != 0)
