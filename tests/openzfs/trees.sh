#!/bin/sh
# trees.sh - make the trees on which fsratio is compared with OpenZFS
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: trees.sh FOLDER
#
# Three are what this machine has, and the others are made; one that needs a
# program that is missing is left out.  All files get the times of their making.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"
[ $# -eq 1 ] || die 'expected a folder'
need openssl
mkdir -p "$1"
cd "$1"

# noise SEED BYTES: prints bytes that cannot be compressed
noise() {
	head -c "$2" /dev/zero | openssl enc -aes-128-ctr -nosalt \
	    -K "$(printf %032x "$1")" -iv 00 2>/dev/null
}

# words SEED COUNT: prints lines of words
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

# some MEGABYTES FROM TO: copies those names in FROM that fit into that size
some() {
	mkdir "$3"
	some_left=$(($1 << 10))
	for some_name in "$2"/*; do
		some_size=$(du -sk "$some_name" | cut -f 1)
		if [ "$some_size" -le "$some_left" ]; then
			some_left=$((some_left - some_size))
			cp -R --preserve=links "$some_name" "$3/"
		fi
	done
}

tree_node() { some 24 /usr/lib/node_modules node; }
tree_source() { some 4 /usr/src/googletest source; }
tree_mail() { mailgen -q -n 1200 mail >/dev/null; }

tree_tiny() {
	mkdir tiny
	words 3 120000 | awk '{
		text = text $0 "\n"
		n = i * 7919 % 400 + 1
		if (length(text) >= n) {
			file = sprintf("tiny/t%04d", i++)
			printf "%s", substr(text, 1, n) >file
			close(file)
			text = ""
		}
	} i == 3000 { exit }'
}

tree_sqlite() {
	mkdir sqlite
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		sqlite3 "sqlite/$i.db" "pragma page_size = 4096;
		    create table t (a integer primary key, b text, c real);
		    create index k on t (b);
		    with recursive n(i) as (select 1 union all
			select i + 1 from n where i < $((i * 900)))
		    insert into t select i, 'name-' || (i * 7919 % 100003) ||
			' of row ' || i, i / 7.0 from n;
		    delete from t where a % 11 = 3;"
	done
}

# pages of 8 KiB, partly filled, and a log in which parts of them are repeated
tree_database() {
	mkdir database
	for i in 1 2 3 4 5 6; do
		words $((i + 40)) 30000 | awk -v fill=$((i * 1100)) '
		{ text = text $0 }
		length(text) > fill {
			page = sprintf("%08d%06d", NR * 4099 % 1000003, fill)
			while (length(page) + 200 < 8192 - fill)
				page = page "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
			page = page substr(text, 1, fill)
			while (length(page) < 8192)
				page = page "~"
			printf "%s", substr(page, 1, 8192)
			text = ""
		}' | tr '~' '\0' >database/relation$i
	done
	for i in 1 2 3 4 5 6; do
		head -c $((i * 40000)) database/relation$i
		noise $i 3000
	done >database/log
}

tree_python() {
	mkdir python
	some 20 /usr/lib/python3/dist-packages python/packages
	i=0
	find python/packages -mindepth 1 -maxdepth 1 -type d | sort |
	    while read -r directory && [ $i -lt 6 ]; do
		i=$((i + 1))
		(cd "${directory%/*}" && zip -q -r -X - "${directory##*/}") \
		    >"python/wheel$i.whl"
	done
}

tree_disk() {
	mkdir disk
	truncate -s 40M disk/image
	mkfs.ext4 -q -F -d source disk/image
}

tree_pictures() {
	mkdir pictures
	for i in 1 2 3 4 5 6 7 8; do
		{
			printf '\377\330\377\340\000\020JFIF\000'
			noise $((i + 70)) $((i * 211003))
		} >pictures/$i.jpg
		words $((i + 70)) 300 >pictures/$i.xmp
	done
}

# of ten files four have no other name, and the others one to three
tree_hard() {
	mkdir hard
	words 8 90000 | (cd hard && split -a 4 -d -l 6 - f)
	for name in hard/f*; do
		i=$((${name#"${name%?}"} % 4))
		while [ $i -gt 0 ]; do
			ln "$name" "$name.$i"
			i=$((i - 1))
		done
	done
}

tree_links() {
	mkdir links
	words 9 90000 | tr -d ' ' | head -n 1500 | awk '{
		print substr($0 $0 $0 $0 $0 $0 $0 $0 $0, 1, 3 + NR * 31 % 398)
		print "links/l" NR }' | xargs -n 2 ln -s
}

tree_directories() {
	words 10 2500 | awk '{ for (i = 1; i <= NF; i++)
	    print "directories/" substr($i, 1, 1) "/" $i NR "x" i }' |
	    xargs mkdir -p
}

tree_empty() {
	mkdir empty
	(cd empty && seq 12000 | sed 's/^/file/' | xargs touch)
}

for tree in node source mail tiny sqlite database python disk pictures hard \
    links directories empty; do
	[ ! -e "$tree" ] || continue
	"tree_$tree" || say "$tree is left out"
done
