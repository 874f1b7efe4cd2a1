#!/bin/sh
# Tests fsratio --libzstd: another library, and files that are none.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have fsratio || skip_all 'no fsratio'
fake=$BIN/tests/libfake_zstd.so
[ -e "$fake" ] || skip_all 'libfake_zstd is not built'

mkdir tree
seq 20000 | head -c 100000 >tree/a

# physical: prints the size of the records, less what the file's record would
# take uncompressed, for each row
physical() {
	awk -F , '!/^#/ && !/^series/ { print $3, $8 - 100352 }' "$1"
}

# --libzstd FILE is refused
refused() {
	t "$1" 1 timeout 60 fsratio -q --libzstd "$2" tree
	is "$1: nothing is printed" "$(wc -c <.t.out)" 0
	shows "$1: the message" "$3" .t.err
}
refused 'a file that is missing' none '^fsratio: none: No such file'
refused 'a folder' tree '^fsratio: tree: not a regular file'
mkfifo pipe
refused 'a pipe' pipe '^fsratio: pipe: not a regular file'
refused 'a text' tree/a '^fsratio: tree/a: not a shared library'
for size in 0 63 64 300 3000 9000; do
	head -c $size "$fake" >cut.so
	refused "a library's first $size bytes" ./cut.so \
	    '^fsratio: ./cut.so: not a shared library, or not all of it'
done
refused 'a program' "$(command -v fsratio)" \
    "^fsratio: $(command -v fsratio): cannot dynamically load"
refused 'a library of something else' "$BIN/tests/libfake_zstd_less.so" \
    'not a libzstd: it has no function ZSTD_getCParams'
refused 'an old version' "$BIN/tests/libfake_zstd_old.so" \
    'zstd 1.3.8 is not supported; expected 1.4.0 or later'
refused 'a version to come' "$BIN/tests/libfake_zstd_new.so" \
    'zstd 2.0.0 is not supported'
for fs in zfs-fuse btrfs squashfs sqpack; do
	t "not for $fs" 1 fsratio --fs $fs --libzstd "$fake" tree
done

# The library decides the size: 20000 and 1000 for each level, in sectors, with
# a header.  The same metadata is added to each.
list=off,lz4,zstd-1,zstd-9,zstd-19,zstd-fast-5
to rows fsratio --csv -p 2 --ashift 9 -a $list --libzstd "$fake" tree
physical rows >sizes
# size LEVEL: prints what the library's size makes of the record
size() { echo $(((20000 + $1 * 1000 + 8 + 511) / 512 * 512 - 100352)); }
meta=$(($(awk '$1 == "zstd-1" { print $2 }' sizes) - $(size 1)))
is 'the metadata is plausible' $((meta > 0 && meta < 50000)) 1
for level in 1 9 19 -5; do
	name=zstd-$level
	[ $level -gt 0 ] || name=zstd-fast$level
	is "$name uses the library" \
	    "$(awk -v n=$name '$1 == n { print $2 }' sizes)" \
	    $(($(size $level) + meta))
done
to plain fsratio --csv -p 1 --ashift 9 -a $list tree
physical plain >plain.sizes
is 'lz4 does not' "$(grep lz4 sizes)" "$(grep lz4 plain.sizes)"
is 'each thread uses it' "$(to one fsratio --csv -p 1 --ashift 9 -a $list \
    --libzstd "$fake" tree && physical one)" "$(cat sizes)"

# It also decides whether a large record is tried at all: lz4 and zstd-1 of this
# machine would not.
mkdir large
head -c 131072 /dev/urandom >large/a
to early fsratio --csv -p 1 --ashift 9 -a zstd-1,zstd-9 --libzstd "$fake" large
is 'an early abort is left to it' "$(awk -F , '$3 == "zstd-1" { n = $8 }
    $3 == "zstd-9" { print $8 - n }' early)" $(($(size 9) - $(size 1)))
is 'rows name its version' "$(awk -F , 'NR > 1 { print $3, $NF }' rows |
    tr '\n' ' ')" 'off  lz4  zstd-1 1.4.5 zstd-9 1.4.5 zstd-19 1.4.5 zstd-fast-5 1.4.5 '
to rows.json fsratio --json -a zstd-1 --libzstd "$fake" tree
shows 'also in JSON' '"libzstd":"1.4.5"' rows.json
to rows fsratio --csv --provenance -a zstd-1 --libzstd "$fake" tree
shows 'and their origin' '^# library: zstd 1.4.5$' rows
to table fsratio -q -a zstd-1 --libzstd "$fake" tree
is 'and the table' "$(tail -n 1 table)" 'zstd: libzstd 1.4.5, as in OpenZFS'
cp "$fake" here.so
t 'a name without a slash is a file here' 0 \
    fsratio -q -a zstd-1 --libzstd here.so tree
t 'the same with 2.1' 0 \
    fsratio -q --fs zfs-2.1 -a zstd-1 --libzstd "$fake" tree

# This program's own library changes nothing.
own=$(ldd "$(command -v fsratio)" | awk '$1 ~ /^libzstd/ { print $3 }')
if [ -e "$own" ]; then
	seq 200000 >tree/b
	# what does not fit leaves a context that must be reset
	noise=$(command -v fsratio)
	cp "$noise" tree/c
	to with fsratio --csv -a all --libzstd "$own" tree
	to without fsratio --csv -a all tree
	is 'this library: the same' "$(cut -d , -f 2- with)" \
	    "$(cut -d , -f 2- without)"
	to table fsratio -q -a zstd-1 --libzstd "$own" tree
	shows 'the table says that it is another' \
	    '^zstd: libzstd [0-9.]*; OpenZFS contains 1.4.5$' table
else
	skip 'libzstd is not a shared library'
fi

if have fsratio-fault; then
	k=0 seen=0 bad=
	while [ $k -lt 20 ]; do
		k=$((k + 1)) status=0
		COLDPRESS_FAULT=malloc:$k:ENOMEM fsratio-fault -q \
		    --libzstd "$fake" tree >out 2>err || status=$?
		[ $status = 0 ] || [ -s err ] || bad="$bad $k"
		! grep -q 'zstd.so: Cannot allocate memory' err || seen=1
	done
	is 'without memory there is an error' "$seen$bad" 1
fi
done_testing
