# shellcheck shell=sh
# squashfs_damage.sh - images damaged in places that are not needed to read
# files
# SPDX-License-Identifier: BSD-2-Clause
#
# damage_begin       makes the undamaged image, entirely uncompressed
# damage_each F      calls F NAME for each kind of damage; the damaged image is
#                    the file spoilt
# The offsets in the superblock are those in src/image/squashfs/read/sq_super.c.

# le FILE OFFSET BYTES: prints a little-endian number
le() { od -An -tu"$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# poke FILE OFFSET BYTES VALUE: writes a little-endian number
poke() {
	poke_value=$4 poke_text='' poke_left=$3
	while [ "$poke_left" -gt 0 ]; do
		poke_text=$poke_text\\$(printf %03o $((poke_value & 255)))
		poke_value=$((poke_value >> 8)) poke_left=$((poke_left - 1))
	done
	# shellcheck disable=SC2059
	printf "$poke_text" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

damage_begin() {
	mkdir -p damage/sub
	seq 40000 >damage/large
	seq 200 >damage/sub/small
	ln -s small damage/sub/link
	setfattr -n user.some -v thing damage/sub/small 2>/dev/null || :
	mksquashfs damage whole -noappend -no-progress -noI -noX -noD -noF \
	    -root-owned >/dev/null 2>&1 || return
	whole_ids=$(le whole 48 8) whole_xattrs=$(le whole 56 8)
	whole_inodes=$(le whole 64 8) whole_exports=$(le whole 88 8)
	whole_fragments=$(le whole 80 8) whole_length=$(le whole 40 8)
}

# one NAME OFFSET BYTES VALUE: tests the image with that number at OFFSET
one() {
	cp whole spoilt
	poke spoilt "$2" "$3" "$4"
	"$damage_do" "$1"
}

damage_each() {
	damage_do=$1
	one 'no inodes' 4 4 0
	one 'too many inodes' 4 4 100000
	one 'no owners' 26 2 0
	one 'too many owners' 26 2 4096
	one 'an id index off by one byte' 48 8 $((whole_ids + 1))
	one 'an id index outside' 48 8 $((whole_length + 4096))
	one 'a missing id index' 48 8 -1
	one 'an id block outside' "$whole_ids" 8 $((whole_length + 4096))
	one 'an id block far before' "$whole_ids" 8 96
	one 'an id block after its index' "$whole_ids" 8 $((whole_ids + 1))
	one 'an export index off by one byte' 88 8 $((whole_exports + 1))
	one 'an export index outside' 88 8 $((whole_length + 9))
	one 'an export block outside' "$whole_exports" 8 $((whole_length + 9))
	one 'a fragment block after its index' "$whole_fragments" 8 \
	    $((whole_fragments + 1))
	one 'missing options' 24 2 $(($(le whole 24 2) | 1024))
	one 'a length past the end of the file' 40 8 $((whole_length + 65536))
	one 'a later version' 30 2 1
	one 'a block size that contradicts its logarithm' 22 2 18
	one 'a root far in its block' 32 8 9000
	one 'an owner that is not in the table' $((whole_inodes + 2 + 4)) 2 99
	one 'an inode number of 0' $((whole_inodes + 2 + 12)) 4 0
	if [ "$whole_xattrs" != 18446744073709551615 ]; then
		one 'an xattr index off by one byte' 56 8 $((whole_xattrs + 1))
		one 'an xattr index outside' 56 8 $((whole_length + 9))
		one 'no xattrs' $((whole_xattrs + 8)) 4 0
		one 'too many xattrs' $((whole_xattrs + 8)) 4 100000
		one 'xattr values after their ids' "$whole_xattrs" 8 \
		    $((whole_xattrs - 1))
		one 'an xattr block outside' $((whole_xattrs + 16)) 8 \
		    $((whole_length + 9))
	fi
	head -c $((whole_length - 1)) whole >spoilt
	"$damage_do" 'a byte missing at the end'
	# A link's inode ends with its target.
	damage_at=$(LC_ALL=C grep -abo 'small' whole | sed -n 1s/:.*//p)
	one 'a target longer than a page' $((damage_at - 4)) 4 5000
}
