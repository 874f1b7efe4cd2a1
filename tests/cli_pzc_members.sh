#!/bin/sh
# Tests members with a length in the header: that of the whole member (subfield
# PM; MZ in earlier builds), that of the deflate stream only (MZ, mgzip 0.2.5),
# or a wrong length.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
seq 700000 >text
size=$(wc -c <text | tr -d ' ')
pzc -i -b 256 -c text >whole.gz
python3 - <<'P'
import struct
data = open("whole.gz", "rb").read()
members, at = [], 0
while at < len(data):
    n, = struct.unpack_from("<I", data, at + 16)
    members.append(data[at:at + n])
    at += n

def header_len(m): return m.index(0, 20) + 1 if m[3] & 8 else 20
def put(m, n):
    return m[:12] + b"MZ" + m[14:16] + struct.pack("<I", n & 0xffffffff) + \
        m[20:]
def write(name, length):
    open(name, "wb").write(b"".join(put(m, length(i, m))
        for i, m in enumerate(members)))

write("earlier.gz", lambda i, m: len(m))
write("deflate.gz", lambda i, m: len(m) - header_len(m) - 8)
write("mixed.gz", lambda i, m: len(m) - (i % 2) * (header_len(m) + 8))
write("short.gz", lambda i, m: len(m) // 2)
write("long.gz", lambda i, m: len(m) + 1000)
write("two.gz", lambda i, m: len(m) + len(members[(i + 1) % len(members)]))
write("tiny.gz", lambda i, m: 1)
write("most.gz", lambda i, m: 0xffffffff)
write("third.gz", lambda i, m: len(m) if i != 2 else len(m) - 100)
P

# Versions of mgzip disagree about the length in MZ.
is 'the subfield is not that of another program' \
    "$(head -c 14 whole.gz | tail -c 2)" PM

# reads NAME: checks that the data is correct, regardless of the lengths
reads() {
	for p in 1 2; do
		t "$1, -p$p" 0 to back pzc -dp$p <"$1.gz"
		same "$1, -p$p: the bytes" back text
	done
	t "$1: -t" 0 pzc -t "$1.gz"
	is "$1: -lt" "$(pzc -ltq "$1.gz" | awk '{ print $4 }')" "$size"
}

# ranges NAME: checks -l and pzseek, which use lengths that point to members
ranges() {
	is "$1: -l" "$(pzc -lq "$1.gz" | awk '{ print $4 }')" "$size"
	have pzseek || return 0
	tail -c +2000001 text | head -c 300000 >want
	t "$1: a range" 0 to back pzseek "$1.gz" 2000000:300000
	same "$1: a range is right" back want
}
for f in whole earlier deflate mixed short long tiny most third; do
	reads $f
	ranges $f
done
reads two
for f in whole earlier deflate mixed; do
	have pzseek || break
	is "$f: found by" "$(pzseek -v $f.gz 0:1 2>&1 >/dev/null | head -n 1)" \
	    "pzseek: $f.gz: members of known length"
done

done_testing
