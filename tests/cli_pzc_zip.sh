#!/bin/sh
# Tests zip archives from other programs: written to files and to pipes, stored
# and deflated, with the sizes before or after the data, or in ZIP64 fields.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
seq 100000 >text
: >empty
size=$(wc -c <text | tr -d ' ')
python3 - <<'P'
import struct, zipfile, zlib

class Pipe:                     # a stream that cannot seek
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): pass

data = open("text", "rb").read()
for method, word in (zipfile.ZIP_STORED, "stored"), \
        (zipfile.ZIP_DEFLATED, "deflated"):
    for big in False, True:
        name = f"py-{word}-{'zip64' if big else 'plain'}"
        with zipfile.ZipFile(name + ".zip", "w", method) as z:
            with z.open("text", "w", force_zip64=big) as o:
                o.write(data)
        with open(name + "-piped.zip", "wb") as f, \
                zipfile.ZipFile(Pipe(f), "w", method) as z:
            with z.open("text", "w", force_zip64=big) as o:
                o.write(data)

def local(flags, method, crc, size, name):
    return struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, method, 0, 33,
        crc, size, size, len(name), 0) + name

def descriptor(crc, size):
    return struct.pack("<4s3I", b"PK\7\10", crc, size, size)

def write(name, b):
    open(name, "wb").write(b + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0, 0,
        0, 0, 0))

n, crc = len(data), zlib.crc32(data)
# a stored entry as bsdtar and zip -0 write it to a pipe
write("known.zip", local(8, 0, 0, n, b"text") + data + descriptor(crc, n))
write("wrong.zip", local(8, 0, 0, n, b"text") + data + descriptor(crc ^ 1, n))
write("empty.zip", local(8, 0, 0, 0, b"text") + descriptor(0, 0))
write("directory.zip", local(0, 0, 0, 0, b"dir/") +
    local(0, 0, crc, n, b"dir/text") + data)
write("encrypted.zip", local(9, 8, 0, 0, b"text") + bytes(100))
write("bzip2.zip", local(0, 12, crc, 100, b"text") + bytes(100))
# only a central directory, for an entry of 2^63 - 1 bytes
name, x = b"text", struct.pack("<2H2Q", 1, 16, 2 ** 63 - 1, 10)
central = struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 8, 0, 33, 0,
    2 ** 32 - 1, 2 ** 32 - 1, len(name), len(x), 0, 0, 0, 0, 0) + name + x
open("huge.zip", "wb").write(local(0, 8, 0, 0, name) + central + struct.pack(
    "<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), 34, 0))
write("short.zip", local(0, 0, crc, n + 100, b"text") + data)
P
if have zip; then
	zip -q by-zip.zip text
	zip -q - text | cat >by-zip-piped.zip
	zip -q - - <text | cat >by-zip-pipe-to-pipe.zip
	zip -q - - <text >by-zip-pipe-to-file.zip
	zip -q0 - text | cat >by-zip-stored.zip
	zip -qfz - - <text | cat >by-zip-64.zip
fi
if have bsdtar; then
	bsdtar --format zip -cf by-bsdtar.zip text
	bsdtar --format zip -cf - text | cat >by-bsdtar-piped.zip
	bsdtar --format zip --options zip:compression=store -cf - text |
	    cat >by-bsdtar-stored.zip
fi

for z in py-*.zip by-*.zip known.zip; do
	case $z in py-stored-*-piped.zip) continue ;; esac	# below
	[ -e "$z" ] || continue
	t "$z" 0 to back pzc -dc "$z"
	same "$z: the bytes" back text
	t "$z, two threads, a pipe" 0 to back sh -c "cat $z | pzc -dp2"
	same "$z, two threads, a pipe: the bytes" back text
done
for z in py-*.zip by-*.zip; do
	[ -e "$z" ] || continue
	is "$z: the size by -l" "$(pzc -lq "$z" | awk '{ print $4 }')" "$size"
done
is 'a 63-bit size' "$(pzc -lq huge.zip | awk '{ print $4 }')" \
    9223372036854775807
is '-l: sums beyond 64 bits' "$(pzc -l huge.zip huge.zip huge.zip |
    awk 'END { print $2 }')" 18446744073709551615+
t 'an empty stored entry' 0 to back pzc -d <empty.zip
same 'an empty stored entry: the bytes' back empty

# refused NAME FILE SENTENCE
refused() {
	t "$1 is refused" 1 to back told pzc -d <"$2"
	is "$1: the reason" "$(cat err)" "pzc: standard input: $3"
}
entry='the first entry of the archive is'
for z in plain zip64; do
	refused "a stored entry of unknown length, $z" \
	    py-stored-$z-piped.zip \
	    "$entry stored, but its header does not record its length"
done
refused 'a directory first' directory.zip "$entry a directory"
refused 'an encrypted entry' encrypted.zip "$entry encrypted"
refused 'another method' bzip2.zip "$entry neither deflated nor stored"
refused 'a stored entry with a wrong check' wrong.zip 'the data is corrupt'
refused 'a stored entry cut short' short.zip 'unexpected end of file'

done_testing
