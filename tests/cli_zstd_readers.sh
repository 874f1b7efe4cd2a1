# shellcheck shell=sh
# pzc's zstd output is read by the programs that read zstd.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

# The input is larger than three jobs of the default size.
python3 -c 'import sys
words = [b"%x" % (i * 2654435761 % 65536) for i in range(4096)]
x, n, out = 1, 0, sys.stdout.buffer
while n < 42000000:
    line = bytearray()
    for i in range(1000):
        x = (x * 1103515245 + 12345) % 2 ** 31
        line += words[x >> 19] + b" "
    n += out.write(line[:42000000 - n])' >large
head -c 33554432 large >whole
head -c 70000 large >small
: >empty
for f in large whole small empty; do
	pzc -F zstd -c $f >$f.zst
	pzc -F zstd <$f >$f.stdin.zst
	pzc -F zstd --no-content-size -c $f >$f.nosize.zst
	same "$f: --no-content-size is as standard input" \
	    $f.nosize.zst $f.stdin.zst
	for p in 1 2 5; do
		pzc -dp$p <$f.stdin.zst >back
		same "$f: -dp$p" back $f
		cat $f.zst | pzc -dp$p >back
		same "$f: -dp$p of a pipe" back $f
	done
done

# There is one frame, with a checksum and a window that all readers accept, and
# nothing after it.
python3 - large.zst large.stdin.zst <<'EOF' >facts
import sys
for name in sys.argv[1:]:
    d = open(name, "rb").read()
    flags, window = d[4], 1 << (10 + (d[5] >> 3))
    size = [0, 2, 4, 8][flags >> 6]
    at, last = 6 + size, 0
    while not last:
        head = int.from_bytes(d[at:at + 3], "little")
        last = head & 1
        at += 3 + (1 if head >> 1 & 3 == 1 else head >> 3)
    stored = int.from_bytes(d[6:6 + size], "little") if size else None
    print(d[:4].hex(), flags >> 2 & 1, window, stored, len(d) - at)
EOF
is 'named: magic, checksum, window, size, bytes after the blocks' \
    "$(head -n 1 facts)" '28b52ffd 1 2097152 42000000 4'
is 'standard input: no size' "$(tail -n 1 facts)" \
    '28b52ffd 1 2097152 None 4'
for l in 1 9 16 19; do
	head -c 100000 large | pzc -F zstd -b 64 -$l >w.zst
	is "-$l: the window is no longer than a job" "$(python3 -c '
d = open("w.zst", "rb").read()
print(1 << (10 + (d[5] >> 3)))')" 65536
done

if have zstd; then
	for f in large whole small empty; do
		for k in zst stdin.zst; do
			zstd -qdc $f.$k >back
			same "zstd -d: $f.$k" back $f
		done
	done
	zstd -lv large.zst >facts 2>/dev/null
	t 'zstd -lv: one frame' 0 grep -q '^# Zstandard Frames: 1$' facts
	t 'zstd -lv: the checksum' 0 grep -q '^Check: XXH64' facts
	head -c 300000 large >part
	for l in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
		pzc -F zstd -$l -b 100 <part | zstd -qdc --memory=8MiB >back
		same "-$l: zstd -d with 8 MiB" back part
	done
fi

# The module may belong to any of the installed Pythons.
py=
for p in python3 /usr/bin/python3; do
	$p -c 'import zstandard' 2>/dev/null && py=$p && break
done
if [ -n "$py" ]; then
	for f in large whole small empty; do
		$py - $f <<'EOF' >facts 2>&1
import sys, zstandard
name = sys.argv[1]
want = open(name, "rb").read()
named, stdin = (open(name + k, "rb").read() for k in (".zst", ".stdin.zst"))
d = zstandard.ZstdDecompressor()
print(d.decompress(named) == want)
for data in named, stdin:
    o = d.decompressobj()
    print(o.decompress(data) == want)
    with d.stream_reader(data) as r:
        print(r.read() == want)
EOF
		is "Python's zstandard: $f" "$(sort -u facts)" True
	done
else
	echo '# skipped: no zstandard for Python'
fi

if have 7z && 7z i 2>/dev/null | grep -qi zstd; then
	7z e -so large.zst >back 2>/dev/null
	same '7z' back large
else
	echo '# skipped: no 7z that knows zstd'
fi

if have dpkg-deb && have ar; then
	mkdir -p tree/data deb control
	cp large tree/data/file
	tar -C tree -cf data.tar data
	printf '%s\n' 'Package: x' 'Version: 1' 'Architecture: all' \
	    'Maintainer: x <x@example.org>' 'Description: x' >control/control
	tar -C control -cf control.tar ./control
	pzc -F zstd control.tar data.tar
	echo 2.0 >debian-binary
	ar rc x.deb debian-binary control.tar.zst data.tar.zst
	t 'dpkg-deb -x' 0 dpkg-deb -x x.deb deb
	same 'dpkg-deb -x: the bytes' deb/data/file large
else
	echo '# skipped: no dpkg-deb, or no ar'
fi

# --memory is respected when decompressing 24 frames of 8 MiB, and a window of
# 64 MiB.
head -c 8388608 large >f8
pzc -F zstd --seekable -b 8192 -c f8 >f8.zst
cat f8.zst f8.zst f8.zst f8.zst f8.zst f8.zst >six.zst
cat six.zst six.zst six.zst six.zst >many.zst
for p in 1 2 8; do
	for m in 24 60 200; do
		pzc -dp$p --memory ${m}M --stats=s.json <many.zst >back
		is "-dp$p --memory ${m}M: all of it" "$(wc -c <back)" \
		    $((24 * 8388608))
		! sanitized pzc || continue
		is "-dp$p --memory ${m}M: no more than that" "$(python3 -c '
import json, sys
r = [json.loads(l) for l in open("s.json")][-1]
print(r["maxrss_KiB"] <= (int(sys.argv[1]) + 4) * 1024)' $m)" True
	done
done
printf '\050\265\057\375\000\200\001\000\000' >w64.zst
for p in 1 2 8; do
	t "-dp$p: a window of 64 MiB within 100" 0 to back \
	    pzc -dp$p --memory 100M <w64.zst
	t "-dp$p: a window of 64 MiB is not within 50" 1 \
	    pzc -tp$p --memory 50M w64.zst
	t "-dp$p: the amount needed is reported" 0 sh -c \
	    "pzc -tp$p --memory 50M w64.zst 2>&1 | grep -q 'needs .* MiB'"
done

done_testing
