#!/bin/sh
# Given images and archives with randomly changed bytes, sqpack exits with 0, or
# with 1 and a message, in bounded memory, and writes nothing outside its
# output.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'

mkdir -p tree/sub/deep
seq 3000 >tree/numbers
seq 20 >tree/sub/few
cp tree/numbers tree/sub/twin
ln tree/sub/few tree/hard
ln -s ../numbers tree/sub/deep/link
mkfifo tree/fifo
truncate -s 40000 tree/hole
(cd tree/sub && seq 300 | xargs touch)
setfattr -n user.color -v red tree/numbers 2>/dev/null || :
sanitized sqpack && limit=0 || limit=$((1 << 31))

cat >mutate.py <<'P'
import os, random, resource, shutil, subprocess, sys
path, limit, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
tasks = [t.split() for t in sys.argv[4:]]
whole = open(path, "rb").read()
chance = random.Random(path)
wrong, read, refused = [], 0, 0

def mutant():
    data = bytearray(whole)
    kind = chance.randrange(8)
    if kind == 0:
        return bytes(data[:chance.randrange(len(data))])
    if kind == 1:    # copy one part over another
        a, b = (chance.randrange(len(data)) for _ in "ab")
        n = chance.randrange(1, 600)
        data[a:a + n] = data[b:b + n]
        return bytes(data)
    # the superblock, the tables after the data, or anywhere
    low, high = (0, 96) if kind < 4 else (len(data) * 2 // 3, len(data)) \
        if kind < 7 else (0, len(data))
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(low, high)
        data[at] = chance.choice((0, 1, 0x7f, 0x80, 0xff,
            data[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
    return bytes(data)

def bound():
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # the zeros of a hole, written as data
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))

def outside():
    return sorted(os.listdir("."))

os.makedirs("work", exist_ok=True)
os.chdir("work")
for i in range(rounds):
    data = mutant()
    open("mutant", "wb").write(data)
    for task in tasks:
        shutil.rmtree("out", ignore_errors=True)
        if os.path.exists("image"):
            os.unlink("image")
        os.mkdir("out")
        before = outside()
        try:
            r = subprocess.run(["sqpack"] + task + ["mutant"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, timeout=300, preexec_fn=bound)
        except subprocess.TimeoutExpired:
            wrong.append((i, task, "hangs"))
            continue
        made = [n for n in outside() if n not in before]
        if r.returncode not in (0, 1):
            wrong.append((i, task, r.returncode, r.stderr[-600:]))
            shutil.copy("mutant", f"../mutant.{i}")
        elif r.returncode == 1 and not r.stderr:
            wrong.append((i, task, "no sentence"))
            shutil.copy("mutant", f"../mutant.{i}")
        elif [n for n in made if n != "image"] or \
            ("image" in made and r.returncode == 1):
            wrong.append((i, task, made))
        read += r.returncode == 0
        refused += r.returncode == 1
print("#", read, "read,", refused, "refused")
for w in wrong[:10]:
    print("#", *w)
sys.exit(bool(wrong) or not refused)
P

rounds=60
for o in '-F gzip' '-F zstd -L 1' '-F lz4' '-F xz' '-F none -b 4K'; do
	# shellcheck disable=SC2086
	sqpack -f -p2 $o -o image tree
	cp image "image${o##*-F }"
	t "images, $o" 0 python3 mutate.py "image${o##*-F }" "$limit" $rounds \
	    '-l -v -p2' '-x out -p2' '--cat numbers' '-F lz4 -p2 -o image'
	head -n 1 .t.out
done
for format in gnu posix; do
	(cd tree && tar --format=$format --xattrs -S -cf - . 2>/dev/null) \
	    >archive.$format
	t "archives, $format" 0 python3 mutate.py archive.$format "$limit" \
	    $rounds '-F lz4 -p2 -o image'
	head -n 1 .t.out
done
done_testing
