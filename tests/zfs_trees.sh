# shellcheck shell=sh
# zfs_trees.sh - trees that are the same everywhere, to be compared with pools
# SPDX-License-Identifier: BSD-2-Clause
# sourced

# words SEED COUNT: prints lines of words, from a generator of its own
words() {
	awk -v seed="$1" -v count="$2" '
	function next_number(below) {
		seed = (seed * 16807) % 2147483647
		return int(seed / 7) % below
	}
	BEGIN {
		for (i = 0; i < count; i++) {
			for (j = next_number(9) + 2; j > 0; j--)
				printf "%c", 97 + next_number(26)
			printf i % 9 ? " " : "\n"
		}
	}'
}

# noise SEED BYTES: prints bytes that cannot be compressed
noise() {
	awk -v seed="$1" -v count="$2" 'BEGIN {
		for (i = 1; i <= count; i++) {
			seed = (seed * 16807) % 2147483647
			printf "\\0%03o%s", int(seed / 11) % 256,
			    i % 500 ? "" : "\n"
		}
	}' | while read -r noise_line; do
		printf '%b' "$noise_line"
	done
}

# zfs_trees: makes nothing/, dirs/, links/, names/, tiny/ and mixed/
zfs_trees() {
	mkdir nothing dirs links names tiny mixed mixed/text
	words 1 3000 | awk '{ for (i = 1; i <= NF; i++) {
	    d = "dirs/" substr($i, 1, 1); print d "/" $i NR "x" i } }' |
	    xargs mkdir -p
	# links that stay in their dnodes, and some that do not
	words 2 6000 | tr -d ' ' | head -n 600 | awk '{
		target = substr($0 $0 $0 $0 $0 $0, 1, 20 + NR % 150)
		print target; print "links/l" NR }' |
	    xargs -n 2 ln -s
	# a directory with leaves, which are split many times
	(cd names && words 1 3000 | tr ' ' '\n' | awk '{ print $0 NR }' |
	    xargs touch)
	words 3 9000 | (cd tiny && split -a 3 -l 2 - t)
	noise 4 3000 >mixed/short
	noise 5 140000 >mixed/noise
	i=0
	while [ $i -lt 60 ]; do
		i=$((i + 1))
		words $((i + 10)) $((i * i * 7)) >mixed/text/$i
	done
	cat mixed/text/* mixed/noise mixed/text/9 >mixed/long
	{
		head -c 300000 /dev/zero
		words 99 20000
	} >mixed/zeros
	chmod -R u=rwX,go=rX nothing dirs names tiny mixed
	find nothing dirs links names tiny mixed -exec touch -h -d @1700000000 {} +
}
