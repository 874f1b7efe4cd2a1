# shellcheck shell=sh
# Tests pzc under the names gzip, pigz and xz, even if these are not installed for
# comparison.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

mkdir bin
for n in gzip gunzip zcat gzcat pigz unpigz; do
	ln -s "$(command -v pzc)" bin/$n
done
PATH=$PWD/bin:$PATH
said() { "$@" 2>&1 || :; }

seq 1000 >a
touch -d '2001-02-03 04:05:06 UTC' a
cp a b
size=$(wc -c <a | tr -d ' ')

# Scripts parse the first line.
is 'gzip -V' "$(gzip -V | head -n 1)" 'gzip 1.12'
is 'zcat -V' "$(zcat -V | head -n 1)" 'zcat (gzip) 1.12'
is 'pigz -V: one line' "$(pigz -V | wc -l | tr -d ' ')" 1
is 'pigz -V' "$(pigz -V | cut -d ' ' -f 2)" 2.6

# Suffixes
gzip a
for s in .gz .z -z .Z; do
	[ $s = .gz ] || mv a.gz a$s
	t "zcat a finds a$s" 0 to back zcat a
	same "zcat a finds a$s: the bytes" back b
	[ $s = .gz ] || mv a$s a.gz
done
for s in -gz _z .zz .tgz; do
	mv a.gz a$s
	t "gunzip a does not find a$s" 1 gunzip a
	t "unpigz a finds a$s" 0 to back unpigz -c a
	mv a$s a.gz
done
is 'missing names' "$(said gzip -t nothing)" \
    'gzip: nothing.gz: No such file or directory'
t 'gunzip a' 0 gunzip a
same 'gunzip a: the bytes' a b
mv a A.GZ && gzip <b >A.GZ
t 'A.GZ has a suffix' 0 gunzip A.GZ
same 'A.GZ becomes A' A b
cp b p.Z
t 'p.Z is not compressed again' 0 gzip p.Z
t 'nor is p.tgz by gzip' 0 sh -c 'cp b p.tgz; gzip p.tgz; test -e p.tgz'
t 'but it is by pigz' 0 sh -c 'pigz p.tgz; test -e p.tgz.gz'

# Listings
cp b a && gzip -k a
zforce=$(gzip -lv a.gz | sed 1d | grep -c '^defl')
is 'zforce sees gzip' "$zforce" 1
is 'column 2 is the size' "$(gzip -l a.gz | awk 'NR == 2 { print $2 }')" "$size"
is 'its header' "$(gzip -l a.gz | head -n 1)" \
    '         compressed        uncompressed  ratio uncompressed_name'
is 'the name' "$(gzip -l a.gz | awk 'NR == 2 { print $4 }')" a
is 'a sum' "$(gzip -l a.gz a.gz | awk 'END { print $2, $4 }')" \
    "$((2 * size)) (totals)"
is 'pigz: its header' "$(pigz -l a.gz | head -n 1)" \
    'compressed   original reduced  name'
is 'pigz: the size' "$(pigz -l a.gz | awk 'NR == 2 { print $2 }')" "$size"
is 'pigz: also for a pipe' "$(tail -c +1 a.gz | pigz -l |
    awk 'NR == 2 { print $2 }')" "$size"
cat a.gz a.gz >aa.gz
is 'all members count' "$(gzip -l aa.gz | awk 'NR == 2 { print $2 }')" \
    $((2 * size))
printf 'x' >>aa.gz
t '-l decompresses' 1 gzip -l aa.gz

# -v
is 'gzip -tv' "$(said gzip -tv a.gz)" "$(printf 'a.gz:\t OK')"
is 'gzip -kvf' "$(said gzip -kvf a | sed 's/[0-9.]*%/%/')" \
    "$(printf 'a:\t %% -- created a.gz')"
is 'pigz -kvf' "$(said pigz -kvf a)" 'a to a.gz '

# Options
for o in --fo --forc --st --std --no --no-n --verb -19 -b9 -nN -p2; do
	t "gzip $o" 0 gzip $o -c a
done
t 'gzip --n is ambiguous' 1 gzip --n -c a
t 'gzip -0' 1 gzip -0 -c a
t 'gzip -F' 1 gzip -F xz -c a
t 'pigz -F' 0 pigz -F -c a
t 'pigz -12' 22 pigz -12 -c a
t 'pigz, no such option' 22 pigz --nonsense
t 'GZIP=-d' 1 env GZIP=-d gzip -c a
t 'GZIP=-9' 0 env GZIP=-9 gzip -c a
t 'PZC=-d is not read' 0 env PZC=-d gzip -c a

# -tf never accepts unknown data, which gzip itself does on standard input.
for o in 'gzip -t' 'gzip -tc' 'pigz -t'; do
	t "$o -f of text" 1 sh -c "echo plain | $o -f"
done

# Data after a member
(gzip <a; echo plain) >mixed
cat a >want && echo plain >>want
for n in 'gzip -cd' 'pigz -cd' zcat; do
	# shellcheck disable=SC2086 # several words
	t "$n -f" 0 to back $n -f mixed
	same "$n -f copies the rest" back want
done
t 'gzip: garbage' 2 gzip -t <mixed
t 'pigz: garbage' 0 pigz -t <mixed
t 'pigz -v: garbage' 1 pigz -tv <mixed
for c in 1 037 '037\0236xx' '037\0036xx'; do
	(gzip <a; printf '%b' "\\0$c") >rest.gz
	(cat a; printf '%b' "\\0$c") >want
	printf '%s\n' "$c" | tr -d '\\0' >word
	t "gzip: 0$(cat word) at the end" 1 gzip -t rest.gz
	t "gzip -cdf: 0$(cat word) at the end" 0 to back gzip -cdf rest.gz
	same "gzip -cdf: 0$(cat word) at the end: the bytes" back want
	cp rest.gz rest.keep
	t "gunzip: 0$(cat word) at the end" 1 gunzip rest.gz
	same "gunzip: 0$(cat word) at the end: the input is kept" rest.gz rest.keep
	t "gunzip: 0$(cat word) at the end: no output" 1 test -e rest
done
for w in '80 x' 'x = 1' BZh9 '(x'; do
	echo "$w" >plain
	t "gzip -cdf of $w" 0 to back gzip -cdf plain
	same "gzip -cdf of $w is cat" back plain
done

# A truncated file is decompressed as far as possible.
head -c 1000 a.gz >cut.gz
t 'a truncated file' 1 to back gzip -dc cut.gz
n=$(wc -c <back)
is 'the data before the cut' "$((n > 1000)) $(head -c "$n" a | cksum)" \
    "1 $(cksum <back)"

# Exit statuses
touch -d @0 zero
t 'a time of 0' 2 gzip -k zero
t 'without it' 0 gzip -nf zero
ln -s a link
t 'gzip: a link' 1 gzip link
t 'pigz: a link' 1 pigz link
ln b b2
t 'gzip: hard links' 2 gzip -k b
t 'pigz: hard links' 0 pigz -k b
mkdir d && cp a d/a && gzip <a >d/b.gz
t 'gzip -tr skips plain files' 0 gzip -tr d
t 'pigz -tr does not' 1 pigz -tr d
t 'gzip: suffix, a word' 2 gunzip d/a
t 'gzip: no format' 1 gzip -t a
if [ -c /dev/full ]; then
	t 'gzip: a full disk' 1 to /dev/full gzip -c a
	t 'pigz: a full disk' 28 to /dev/full pigz -c a
fi
is 'pigz -q is silent' "$(said pigz -q nothing)" ''

ln -s "$(command -v pzc)" bin/xz
is 'xz -l of another file' "$(said xz -l b)" \
    'xz: b: File format not recognized'
for n in 1% 100% max; do
	t "xz: a limit of $n" 0 sh -c "xz --memlimit=$n -c b | xz -M$n -dc >back"
	same "xz: a limit of $n: the bytes" back b
done
for n in % 0% 101%; do
	t "xz: no limit of $n" 1 xz --memlimit=$n -c b
done
shows 'xz: what is wrong' 'in the range \[1, 100\]' .t.err
is 'xz --info-memory' "$(xz --robot -M 100MiB --memlimit-decompress=50MiB \
    --info-memory | cut -f 2,3)" "$(printf '104857600\t52428800')"
is 'xz --info-memory: none' "$(xz --info-memory | sed -n 's/^  Comp.*: *//p')" \
    Disabled
is 'xz --info-memory: one' "$(xz -M 100MiB --info-memory |
    sed -n 's/^  Comp.*: *//p')" '100 MiB (104857600 B)'
xz -T2 --block-size=1MiB -c b >b.xz
for n in 0 1 1MiB 40% max; do
	t "xz: $n for blocks in threads" 0 sh -c \
	    "xz --memlimit-mt-decompress=$n -T2 -dc b.xz >back"
	same "xz: $n for blocks in threads: the data" b back
done
t 'xz: not so many' 1 xz --memlimit-mt-decompress=many -dc b.xz
for f in auto:fd xz:fd lzma:5d alone:5d; do
	is "xz --format=${f%:*}" "$(xz --format=${f%:*} -c b | head -c 1 |
	    od -An -tx1)" " ${f#*:}"
done
t 'xz: no such format' 1 xz --format=zip -c b
# What xz -lvv says of blocks that an index describes wrongly, with the right CRC
is 'xz -l of standard input' "$(said xz -l - <b)" \
    'xz: --list does not support reading from standard input'
if have python3; then
	cat >index.py <<'P'
import struct, sys, zlib


def number(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def crc(data):
    return data + struct.pack("<I", zlib.crc32(data))


def records(index):
    at, all_, n, shift = 2, [], 0, 0
    while len(all_) < 2 * index[1]:
        n |= (index[at] & 127) << shift
        shift += 7
        if index[at] < 128:
            all_.append(n)
            n = shift = 0
        at += 1
    return list(zip(all_[::2], all_[1::2]))


old = open(sys.argv[1], "rb").read()
size = 4 * (struct.unpack("<I", old[-8:-4])[0] + 1)
r = records(old[-12 - size:-12])
if sys.argv[2] == "swap":
    r[0], r[1] = r[1], r[0]
elif sys.argv[2] == "near":
    # which leaves the place of the next block as it is
    n = r[0][0]
    r[0] = (n - 1 if n % 4 != 1 else n + 1, r[0][1])
elif sys.argv[2] == "split":
    n = (r[0][0] + 3) // 4 * 4
    r = [(8, 1), (n - 8, r[0][1] - 1)]
index = b"\0" + number(len(r)) + b"".join(number(a) + number(b) for a, b in r)
index = crc(index + bytes(-len(index) % 4))
flags = struct.pack("<I", len(index) // 4 - 1) + old[-4:-2]
sys.stdout.buffer.write(old[:-12 - size] + index +
                        struct.pack("<I", zlib.crc32(flags)) + flags + b"YZ")
P
	# blocks with, and without, their sizes in their headers
	cat a a a a a a a a >eight
	xz -kT2 --block-size=16KiB eight
	xz -kcT1 b >one.xz
	for how in 'same eight' 'same one' 'near eight' 'swap eight' \
	    'split one'; do
		python3 index.py "${how#* }.xz" "${how% *}" >made.xz
		t "xz -l, $how" 0 xz -l made.xz
		case $how in
		same*)
			t "xz -lvv, $how" 0 xz -lvv made.xz
			same "xz, $how: the same file" made.xz "${how#* }.xz"
			;;
		*)
			t "xz -lvv, $how" 1 xz -lvv made.xz
			shows "xz -lvv, $how: why" 'corrupt' .t.err
			;;
		esac
	done
fi

# The programs whose formats have several: what each refuses, and that nothing is
# lost or made then.
for n in zstd lz4; do
	ln -s "$(command -v pzc)" bin/$n
done
is 'a missing directory' "$(said gzip nowhere/a)" \
    'gzip: nowhere/a: No such file or directory'
# fails STATUS TEXT COMMAND...: it does, says the text, and makes no output
fails() {
	f_status=$1 f_text=$2
	shift 2
	rm -f made
	t "$*" "$f_status" "$@"
	shows "$*: why" "$f_text" .t.err
	is "$*: nothing is made" "$(test -e made && echo made)" ''
}

# zstd: an unusable dictionary, a patch of several files or of standard input
: >none
zstd -q -k a b
for o in '-D none' --patch-from=none '-D nowhere' --patch-from=nowhere; do
	why='nowhere: No such file'
	case $o in *none) why='none: No data' ;; esac
	# shellcheck disable=SC2086 # two words
	fails 31 "Couldn't open dictionary $why" zstd $o a -o made
done
fails 1 'at the same time' zstd -D a --patch-from=b a -o made
fails 1 'cannot use a as an input file and dictionary' zstd -D a a -o made
fails 1 'on multiple files' zstd --patch-from=b a b
fails 42 'requires --stream-size' zstd --patch-from=b - -o made
fails 42 'requires --stream-size' zstd --patch-from=b -o made
t 'zstd --patch-from of a file' 0 zstd -q --patch-from=b a -o made
t 'zstd: reads it' 0 to back zstd --patch-from=b -dc made
same 'zstd: the bytes' back a
for log in 9 32 40; do
	fails 11 'out of bound' zstd --long=$log a -o made
done
for log in 10 27; do
	t "zstd --long=$log" 0 zstd -q --long=$log -f a -o made
	t "zstd --long=$log: is read" 0 zstd -tq --long=31 made
done
fails 14 'samples too low' zstd --train a -o made
# the methods of training, which give different dictionaries
cat "$SRC"/src/tools/pzc/*.c >samples
for how in legacy cover=k=46,d=8 fastcover=k=46,d=8; do
	t "zstd --train-$how" 0 zstd -q --train-$how -B1K samples \
	    -o "dict.${how%%=*}" --maxdict=4K
done
for pair in 'legacy cover' 'legacy fastcover' 'cover fastcover'; do
	t "zstd: not the same, $pair" 1 \
	    cmp -s "dict.${pair% *}" "dict.${pair#* }"
done
fails 1 nowhere zstd --train -B1K samples nowhere -o made --maxdict=4K
for bad in k,d=8 k=46,d k= steps; do
	fails 1 'Incorrect parameters' zstd --train-cover=$bad \
	    -B1K samples -o made
done
# zstd: a path that leads out of the directory for outputs
mkdir out d/e
cp a d/e/a
for f in ../in/a d/../a; do
	t "zstd: $f leads out" 1 zstd -q --output-dir-mirror=out $f
	is "zstd: $f: is said, and no more" "$(sed 's/.*: //' .t.err)" \
	    'its path leads out of out'
	is "zstd: $f: nothing is made" "$(find out -type f)" ''
done
t 'zstd: one that does not' 0 zstd -q --output-dir-mirror=out d/e/a
t 'zstd: is mirrored' 0 zstd -tq out/d/e/a.zst

# lz4: a third operand, names with a meaning
t 'lz4: one operand, not to a terminal' 0 to back lz4 a
t 'lz4: is written to standard output' 0 sh -c 'lz4 -dc <back | cmp - a'
is 'lz4: and not to a file' "$(test -e a.lz4 && echo made)" ''
fails 1 "b won't be used" lz4 a made b
t 'lz4 -f: a third operand' 0 lz4 -fq a made b
t 'lz4: is not made' 0 sh -c 'lz4 -dc made | cmp - a'
cp b made
t 'lz4: an output that exists' 1 sh -c 'lz4 -q a made </dev/null'
same 'lz4: it is kept' made b
t 'lz4: to null' 0 lz4 -q a null
is 'lz4: makes no file of that name' "$(test -e null && echo made)" ''
t 'lz4: two, one of them -' 0 to back lz4 -q a -
t 'lz4: to standard output' 0 sh -c 'lz4 -dc <back | cmp - a'
t 'lz4: to stdout' 0 to back lz4 -q a stdout
t 'lz4: has it, too' 0 sh -c 'lz4 -dc <back | cmp - a'
t 'lz4: standard input has a name' 0 sh -c 'lz4 -q stdin made <a -f'
t 'lz4: a and made are the same' 0 sh -c 'lz4 -dc made | cmp - a'
t 'lz4: -m' 0 lz4 -qm a b
t 'lz4: both are made' 0 sh -c 'lz4 -dc a.lz4 | cmp - a && lz4 -dc b.lz4 | cmp - b'
done_testing
