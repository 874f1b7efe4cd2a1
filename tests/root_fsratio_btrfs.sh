#!/bin/sh
# Compares fsratio with btrfs: its prediction matches compsize.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/btrfs.sh
. "$SRC/tests/btrfs.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have fsratio || skip_all 'no fsratio'
have mkfs.btrfs || skip_all 'no mkfs.btrfs'
have compsize || skip_all 'no compsize'

mkdir mnt
trap 'umount mnt 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# real TREE OPTION: prints the size on disk, the uncompressed size and the size
# of the nodes, before anything else is written
real() {
	rm -f img
	truncate -s 2G img
	mkfs.btrfs -q img >log 2>&1
	mount -o "loop,noatime,$2" img mnt 2>>log || return
	[ "$(stat -f -c %T mnt)" = btrfs ] || return
	cp -a "$1/." mnt/ && sync -f mnt
	r_nodes=$(btrfs filesystem df --raw mnt | sed -n 's/^Metadata.*used=//p')
	compsize -b mnt | awk -v n="$r_nodes" '/^TOTAL/ { print $3, $4, n }'
	umount mnt
}

# foretold TREE ALGORITHM OPTION...: prints fsratio's prediction
foretold() {
	f_tree=$1 f_name=$2
	shift 2
	fsratio -q --csv --fs btrfs -a "$f_name" "$@" "$f_tree" | awk -F , '
	    /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
	    { print $at["physical_B"], $at["logical_B"], $at["metadata_B"] / 2 }'
}

# near GOT WANT COLUMN PERCENT
near() {
	echo "$1 $2" | awk -v c="$3" -v p="$4" '{ d = ($c - $(c + 3)) / $(c + 3)
	    if (NF != 6) print "no figures: " $0
	    else if (d * d <= (p / 100) ^ 2) print "yes"
	    else print $c " for " $(c + 3) }'
}

# beside TREE OPTION ALGORITHM [OPTION]: compares the two; the options are
# passed to mount and to fsratio
beside() {
	b_tree=$1 b_mount=$2
	shift 2
	b_want=$(real "$b_tree" "$b_mount")
	b_got=$(foretold "$b_tree" "$@")
	is "$b_tree, $b_mount: disk within 0.6 %" \
	    "$(near "$b_got" "$b_want" 1 0.6)" yes
	is "$b_tree, $b_mount: uncompressed within 0.1 %" \
	    "$(near "$b_got" "$b_want" 2 0.1)" yes
	is "$b_tree, $b_mount: metadata within 5 %" \
	    "$(near "$b_got" "$b_want" 3 5)" yes
}

truncate -s 300M img
mkfs.btrfs -q img >log 2>&1
mount -o loop img mnt 2>>log || skip_all 'no btrfs can be mounted here'
umount mnt

# Compares mail-sized pieces of this machine's files, and the files themselves.
mkdir -p pieces doc
cat /usr/share/doc/*/copyright /usr/share/common-licenses/* 2>/dev/null |
    head -c 12000000 >text
[ "$(wc -c <text)" -gt 2000000 ] || skip_all 'too little text here'
awk 'BEGIN { srand(5); n = 0 }
    { if (left <= 0) { if (f != "") close(f)
        d = sprintf("pieces/%02d", n / 100); if (n % 100 == 0) system("mkdir " d)
        f = sprintf("%s/%05d", d, n++)
        left = 300 + exp(7 + 1.6 * (rand() + rand() - 1)) }
      print >f; left -= length($0) }' text
n=0
for d in /usr/share/doc/* /usr/share/perl/* /usr/lib/python3*/*; do
	[ "$n" -lt 60000 ] || break
	cp -R "$d" doc/ 2>/dev/null
	n=$(du -sk doc | cut -f 1)
done

# Many names: directories, symbolic links, files with two hard links, and files
# with xattrs.
mkdir -p names
awk 'BEGIN { for (i = 0; i < 12000; i++) {
    d = sprintf("names/%02d", i / 300); if (i % 300 == 0) print "mkdir " d
    if (i % 3 == 0) print "mkdir " d "/directory" i
    else if (i % 3 == 1) print "ln -s ../../some/where/" i " " d "/link" i
    else print "echo " i " >" d "/file" i "; ln " d "/file" i " " d "/again" i
    } }' | sh
# shellcheck disable=SC2015
have setfattr && find names -type f -name 'file*2' -exec \
    setfattr -n user.note -v 'what it is about, in forty characters' {} + ||
    skip 'no xattrs here'

# Small files, some with xattrs, next to empty directories and links.
mkdir kinds
awk 'BEGIN { srand(9); for (i = 0; i < 9000; i++) {
    d = sprintf("kinds/%02d", i / 250); if (i % 250 == 0) print "mkdir " d
    n = int(1000 * rand() ^ 2) + 1
    if (i % 5 == 0) print "mkdir " d "/d" i
    else if (i % 5 == 1) print "ln -s /usr/share/doc/" i " " d "/l" i
    else print "dd if=text of=" d "/file-" i " bs=" n " skip=" i \
        " count=1 status=none"
    } }' | sh
# shellcheck disable=SC2015
have setfattr && find kinds -type f -name 'file-*[369]' -exec \
    setfattr -n user.note -v 'what it is about, in forty characters' {} + ||
    skip 'no xattrs here'

many_small small

# compsize counts inline data once per name, so it cannot be used for these.
# Two copies differ by up to 2 %.
for tree in names kinds small; do
	b_want=$(real $tree compress-force=zstd:3)
	b_got=$(foretold $tree zstd-3 --force)
	is "$tree: metadata within 3 %" "$(near "$b_got" "$b_want" 3 3)" yes
done

for tree in pieces doc; do
	for level in 1 3 9; do
		beside $tree compress-force=zlib:$level zlib-$level --force
	done
	for level in 1 3 15; do
		beside $tree compress-force=zstd:$level zstd-$level --force
	done
	beside $tree compress=zlib:3 zlib-3
	beside $tree compress=zstd:3 zstd-3
	if fsratio --fs btrfs -q -a lzo mnt >/dev/null 2>&1; then
		beside $tree compress-force=lzo lzo --force
	else
		skip 'fsratio was built without LZO'
	fi
	beside $tree compress=no off
done
done_testing
