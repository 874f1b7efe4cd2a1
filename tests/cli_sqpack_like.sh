#!/bin/sh
# sqpack --like mksquashfs matches mksquashfs 4.5.1 byte for byte.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mksquashfs || skip_all "mksquashfs is not installed"
case $(mksquashfs -version) in
*'version 4.5.1 '*) ;;
*) skip_all "mksquashfs is not 4.5.1, to which sqpack's bytes correspond" ;;
esac

export SOURCE_DATE_EPOCH=1700000000

# in NAME: creates a tree and changes to it
in_tree() {
	mkdir -p "$top/trees/$1"
	cd "$top/trees/$1" || exit 1
}

# text BYTES: prints compressible text
text() {
	awk -v n="$1" 'BEGIN {
		for (i = 1; n > 0; i++) {
			s = "line " i " of " i * i " and " i % 97 "\n"
			printf "%s", substr(s, 1, n)
			n -= length(s)
		}
	}'
}

zeros() { head -c "$1" /dev/zero; }
noise() { head -c "$1" /dev/urandom; }

# names N [LENGTH]: creates N small files with names of LENGTH bytes
names() {
	awk -v n="$1" -v len="${2-1}" 'BEGIN {
		for (i = 1; i <= n; i++) {
			name = i
			while (length(name) < len) name = name "x"
			print i > name
			close(name)
		}
	}'
}

plain_trees() {
	in_tree nothing
	in_tree empty
	: >a
	: >z
	mkdir dir dir/below
	in_tree one
	echo hello >file
	in_tree three_hundred
	names 300
	in_tree index			# 256 names get no index, 257 get one
	names 256
	mkdir more
	cd more && names 257
	in_tree wide			# a listing of more than 64 KiB
	names 420 200
	in_tree long_names
	names 40 255
	in_tree links
	for n in 1 60 255 2000; do
		ln -s "$(awk -v n="$n" 'BEGIN {
			while (n-- > 0) printf "t"
		}')" "to$n"
	done
	in_tree order
	mkdir a 'a!' b
	touch a-b a/b a.b 'a!/c' B
	printf x >"$(printf 'b/\303\251')"
	in_tree deep
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		text "$n"00 >file
		mkdir down
		cd down || exit 1
	done
}

data_trees() {
	in_tree duplicates
	text 300000 >a
	mkdir d
	cp a d/same
	cp a z
	text 400000 >other
	text 70 >small
	cp small small_too
	head -c 131072 a >block
	cp block block_too
	in_tree hard
	text 200000 >a
	mkdir d
	ln a d/link
	ln d/link z
	echo small >d/small
	ln d/small small
	in_tree holes
	for n in 1 100 200 1124 131072 131073 131200 262144 1048576; do
		truncate -s "$n" "hole$n"
		zeros "$n" >"zeros$n"
	done
	in_tree tails			# the same blocks, then zeros
	noise 131072 >a
	for n in 100 200 131072; do
		{ cat a; zeros "$n"; } >"a$n"
		{ zeros 131072; cat a; zeros "$n"; } >"b$n"
	done
	cp a100 c
	{ cat a; truncate -s 400000 a; cat a; } >e
	in_tree dense
	noise 200000 >a
	noise 5 >b
	{ text 131072; noise 131072; text 9; } >c
	in_tree big
	{ text 5000000; noise 300000; zeros 900000; text 700000; } >big
	in_tree mixed
	for n in 1 2 3 4 5 6 7 8 9; do
		mkdir "$n"
		text "${n}0000" >"$n/text"
		text "$n" >"$n/word"
		ln -s text "$n/link"
		cp "$n/text" "again$n"
	done
}

other_trees() {
	in_tree modes
	for m in 0 644 755 1777 2755 4755 7777; do
		echo "$m" >"f$m"
		chmod "$m" "f$m"
		mkdir "d$m"
		chmod "$m" "d$m"
	done
	in_tree times
	for t in 0 1 1699999999 1700000001 2147483648 4294967295; do
		echo "$t" >"at$t"
		touch -d "@$t" "at$t"
	done
	mkdir old
	touch -d @-1000 at-1000 old
	touch -d @5000000000 future
	in_tree special
	mkfifo fifo
	ln fifo too
	if [ "$(id -u)" = 0 ]; then
		mknod char c 5 1
		mknod wide c 4095 1048575
		mknod block b 8 300
		ln block same
		chown 1000:2000 char
	fi
}

# alike NAME TREE OPTION...: checks that both programs write the same bytes
alike() {
	name=$1 tree=$2
	shift 2
	rm -f theirs.img
	mksquashfs "trees/$tree" theirs.img -noappend -no-fragments \
	    -all-root -no-xattrs -no-progress "$@" >mksquashfs.out 2>&1
	shift 2
	for p in 1 3; do
		sqpack -f --like mksquashfs -F "$name" "$@" -p "$p" \
		    -o ours.img "trees/$tree"
		same "$name $tree${*:+ $*}, $p threads" ours.img theirs.img
	done
}

top=$PWD
plain_trees
data_trees
other_trees
cd "$top" || exit 1
for tree in trees/*; do
	for method in xz lzo; do
		alike "$method" "${tree##*/}" -comp "$method"
	done
done
for block in 4096 1048576; do
	alike xz mixed -comp xz -b "$block"
	alike lzo tails -comp lzo -b "$block"
done
alike gzip mixed -comp gzip
alike zstd tails -comp zstd
alike lz4 holes -comp lz4

t "an archive is refused" 1 sqpack --like mksquashfs -o no.img no.tar
t "other programs cannot be imitated" 1 sqpack --like tar -o no.img trees/one
shows "and it says which exist" mksquashfs .t.err
t "unsupported levels are refused" 1 sqpack --like mksquashfs -F gzip \
    -L 12 -o no.img trees/one
t "no image is left" 1 test -e no.img

done_testing
