# shellcheck shell=sh
# --memory limits decompression: correct output within the limit, or an error
# that states the amount needed.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
! sanitized pzc || skip_all "a sanitizer's memory is not pzc's"

# run.py MIB WANT COMMAND...: checks that its output equals the file WANT, and
# that its peak resident set is at most MIB plus that of a minimal program
cat >run.py <<'P'
import os, sys
mib, want, argv = int(sys.argv[1]), open(sys.argv[2], "rb"), sys.argv[3:]
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.dup2(w, 1)
    os.close(r)
    os.execvp(argv[0], argv)
os.close(w)
same = True
with os.fdopen(r, "rb") as out:
    while d := out.read(1 << 20):
        same &= d == want.read(len(d))
same &= want.read(1) == b""
_, status, usage = os.wait4(pid, 0)
took = usage.ru_maxrss / 1024
print("#", *argv, "->", status, same, "%.1f MiB" % took)
sys.exit(not (status == 0 and same and took < mib + 12))
P

within() {	# NAME MIB FILE WANT: with 1 and with 8 threads
	for w_p in 1 8; do
		t "$1: in $2 MiB, -p$w_p" 0 python3 run.py "$2" "$4" \
		    pzc -dc -p$w_p --memory "$2M" "$3"
		grep '^# ' .t.out
	done
}
refused() {	# NAME MIB FILE NEED: NEED is a pattern for the amount stated
	for r_p in 1 8; do
		t "$1: not in $2 MiB, -p$r_p" 1 to out \
		    pzc -dc -p$r_p --memory "$2M" "$3"
		shows "$1: names the need, -p$r_p" \
		    "needs $4 MiB to decompress; --memory allows $2 MiB" .t.err
	done
}

head -c 24M /dev/urandom >noise
seq 1 6000000 | head -c 24M >text

# xz: one thread needs the dictionary; more memory allows several threads
if have xz; then
	xz -T2 --lzma2=preset=0,dict=64MiB --block-size=8MiB -c text noise \
	    >large.xz
	cat text noise >both
	for m in 72 256; do
		within 'xz, a dictionary of 64 MiB' $m large.xz both
	done
	refused 'xz, a dictionary of 64 MiB' 32 large.xz 6[5-9]
	xz -T1 --lzma1=preset=0,dict=64MiB --format=lzma -c text >large.lzma
	within 'lzma, a dictionary of 64 MiB' 72 large.lzma text
	refused 'lzma, a dictionary of 64 MiB' 32 large.lzma 6[5-9]
	# a small block, followed by one that needs more memory
	{ pzc -F xz -0 -c noise; cat large.xz; } >mixed.xz
	refused 'xz, the second stream' 32 mixed.xz 6[5-9]
	t 'xz: the data before it' 1 sh -c \
	    'pzc -dc --memory 32M mixed.xz | cmp - noise 2>&1'
fi
# 4 GiB less one byte, and a size that fits
printf '\135\377\377\377\377\377\377\377\377\377\377\377\377\000\000' >4g.lzma
refused 'lzma, a dictionary of 4 GiB' 100 4g.lzma 4[01][0-9][0-9]
t 'lzma, a dictionary of 4 GiB, no limit' 1 pzc -t 4g.lzma
shows 'lzma, 4 GiB: the reason' 'more than any --long' .t.err

# lz4: the legacy frame's blocks are the largest
for f in noise text; do
	pzc -F lz4 --legacy -c $f >legacy
	within "lz4 --legacy, $f" 20 legacy $f
	within "lz4 --legacy, $f" 64 legacy $f
	refused "lz4 --legacy, $f" 12 legacy 1[78]
	pzc -F lz4 -c $f >frame
	within "lz4, blocks of 4 MiB, $f" 10 frame $f
	refused "lz4, blocks of 4 MiB, $f" 6 frame 1[0-9]
	pzc -F lz4 -b 64 -c $f >small
	within "lz4, blocks of 64 KiB, $f" 3 small $f
done
# a small frame, followed by one with larger blocks
pzc -F lz4 --legacy -c noise >legacy
{ head -c 1000 text | pzc -F lz4 -b 64; cat legacy; } >mixed.lz4
refused 'lz4, the second frame' 6 mixed.lz4 22
{ head -c 1000 text; cat noise; } >both
within 'lz4, the second frame' 23 mixed.lz4 both
if have lz4; then
	lz4 -qB7 -BD -c text >linked
	within 'lz4 -BD' 12 linked text
	refused 'lz4 -BD' 6 linked 1[0-9]
fi

# bzip2: blocks of random bytes, and of one byte
for f in noise text; do
	pzc -F bzip2 -c $f >b.bz2
	within "bzip2, $f" 24 b.bz2 $f
	within "bzip2, $f" 64 b.bz2 $f
	refused "bzip2, $f" 12 b.bz2 2[0-9]
done
head -c 150M /dev/zero >zeros
pzc -F bzip2 -c zeros >b.bz2
within 'bzip2, zeros' 24 b.bz2 zeros
within 'bzip2, zeros' 64 b.bz2 zeros

# gzip, zlib: the piece size is limited, regardless of members and blocks
for f in noise text; do
	for o in '-1' '-i -b 128' '-i -b 4000' '-b 4000' '-b 20000' '-11'; do
		[ "$f $o" != 'text -11' ] || continue
		# shellcheck disable=SC2086
		pzc $o -c $f >g.gz
		within "gzip $o, $f" 16 g.gz $f
		within "gzip $o, $f" 48 g.gz $f
	done
	pzc -z -c $f >g.zz
	within "zlib, $f" 16 g.zz $f
done
if have compress; then
	compress -c text >text.Z
	within '.Z' 8 text.Z text
fi
t 'a tiny limit' 1 pzc -dc --memory 100K b.bz2
shows 'a tiny limit: the reason' 'to decompress; --memory allows 100 KiB' .t.err

done_testing
