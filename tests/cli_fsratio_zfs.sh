#!/bin/sh
# Tests fsratio's predictions for OpenZFS against sizes of real pools.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/zfs_trees.sh
. "$SRC/tests/zfs_trees.sh"

have fsratio || skip_all 'no fsratio'
zfs_trees

# near NAME GOT WANT PERMILLE: the two numbers differ by at most so much
near() {
	if awk -v a="$2" -v b="$3" -v limit="$4" 'BEGIN {
	    d = a > b ? a - b : b - a; exit !(d * 1000 <= b * limit) }'; then
		ok "$1"
	else
		not_ok "$1"
		echo "# got $2, more than $4 per mille from $3"
	fi
}

# `referenced' of these trees in pools of OpenZFS 2.3.2, and how far, in per
# mille, the prediction may be: the other libraries' versions of zlib and zstd
# compress differently, and with 512-byte sectors times matter.
while read -r tree ashift algorithm want limit; do
	to rows fsratio --csv --ashift "$ashift" -a "$algorithm" "$tree"
	near "$tree with $algorithm at ashift $ashift" \
	    "$(awk -F , 'END { print $9 }' rows)" "$want" "$limit"
done <<'EOF'
nothing 12 off 98304 0
nothing 9 lz4 24576 0
dirs 12 lz4 1089536 0
dirs 12 off 1089536 0
links 12 lz4 253952 0
links 9 lz4 151552 5
names 9 lz4 399360 10
tiny 12 off 2281472 0
tiny 12 zle 2174976 0
tiny 12 lzjb 2277376 0
tiny 12 lz4 2273280 0
tiny 12 gzip-6 978944 10
tiny 12 zstd-3 1871872 20
tiny 9 lz4 352768 2
tiny 9 zle 342528 3
tiny 9 gzip-6 243200 15
mixed 12 off 9523200 0
mixed 12 zle 8040448 0
mixed 12 lzjb 8101888 0
mixed 12 lz4 8028160 0
mixed 12 gzip-6 5455872 5
mixed 12 zstd-3 5046272 5
mixed 9 off 9261056 3
mixed 9 lz4 7749632 3
mixed 9 zstd-3 4739584 5
EOF

# The same with layouts and properties, lz4 and 4096-byte sectors.
while read -r tree want options; do
	# shellcheck disable=SC2086
	to rows fsratio --csv -a lz4 $options "$tree"
	is "$tree with $options" "$(awk -F , 'END { print $9 }' rows)" "$want"
done <<'EOF'
mixed 8233104 --layout raidz1:3
mixed 7792896 --layout raidz3:8 --recordsize 1M
mixed 15929344 --copies 2
mixed 7979008 --redundant-metadata most
mixed 7938048 --redundant-metadata some
mixed 7933952 --redundant-metadata none
mixed 8028160 --dedup
mixed 8146944 --encryption
mixed 9133344 --layout draid2:4d:6c:0s
mixed 8114832 --layout raidz1:3 --special 16K
tiny 2404352 --dnodesize auto
tiny 2322432 --no-embedded-data
dirs 25706496 --no-embedded-data
EOF

for layout in '' raidz raidz1 raidz4:6 raidz1:1 raidz2:2 raidz1:256 raidz1:3x \
    raidz1:-3 draid1:4 draid1:0d draid4:4d mirror:2; do
	t "no layout '$layout'" 1 fsratio --layout "$layout" nothing
done
t 'a draid as zpool writes it' 0 fsratio -q --layout draid2:4d:11c:1s nothing
t 'no dnode size' 1 fsratio --dnodesize 3k nothing
t 'no number of copies' 1 fsratio --copies 4 nothing
t 'copies of zfs-fuse' 1 fsratio --fs zfs-fuse --copies 2 nothing
t 'layouts of btrfs' 1 fsratio --fs btrfs --layout mirror nothing
to rows fsratio --csv nothing
is 'rows name the version' "$(awk -F , 'END { print $2 }' rows)" zfs-2.3
to rows fsratio --csv --fs zfs-2.1 nothing
is 'also an older one' "$(awk -F , 'END { print $2 }' rows)" zfs-2.1

# 2.1 keeps records that save an eighth, though not of whole sectors.
mkdir eighth
{
	noise 6 14100
	head -c 2284 /dev/zero
} >eighth/a
for fs in zfs-2.1 zfs; do
	to $fs.csv fsratio --csv --fs $fs --ashift 9 -a zle eighth
	to $fs.lz4 fsratio --csv --fs $fs --ashift 10 -a lz4 eighth
done
is 'zle is limited by neither' "$(awk -F , 'END { print $8 }' zfs.csv)" \
    "$(awk -F , 'END { print $8 }' zfs-2.1.csv)"

# A file that is embedded is read once more, when it may be gone.
mkdir short
i=0
while [ $i -lt 300 ]; do
	i=$((i + 1))
	echo "file $i" >short/$i
done
fsratio -q --csv -a lz4,gzip-6 short >out 2>err &
child=$!
rm -f short/1* short/2*
status=0
wait $child || status=$?
is 'a file that disappears is reported, if noticed' "$status" \
    "$([ -s err ] && echo 1 || echo 0)"

done_testing
