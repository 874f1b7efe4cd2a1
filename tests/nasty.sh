# shellcheck shell=sh
# nasty.sh - a tree of difficult files; sourced by tests of images
# SPDX-License-Identifier: BSD-2-Clause

# nasty_tree: fills ./tree with files smaller than, equal to and larger than one
# block, holes, zeros, empty files, duplicates of all kinds, links, odd and long
# names, many names, and a FIFO
nasty_tree() {
	mkdir -p tree/a/b/c/d tree/many tree/bare tree/mode
	seq 200000 >tree/a/large
	head -c 300000 /dev/urandom >tree/a/random
	head -c 131072 tree/a/large >tree/a/exact
	head -c 131071 tree/a/large >tree/a/less
	head -c 131073 tree/a/large >tree/a/more
	head -c 5000 tree/a/large >tree/a/b/tail
	cp tree/a/large tree/a/b/c/twin
	cp tree/a/b/tail tree/a/b/c/small-twin
	head -c 300000 /dev/urandom >tree/a/random-too
	ln tree/a/random tree/a/b/c/d/hard
	ln tree/a/b/tail tree/0-hard
	ln -s nowhere tree/a/soft
	ln -s "$(printf 'x%.0s' $(seq 3000))" tree/a/long-soft
	mkfifo tree/a/fifo
	: >tree/empty
	truncate -s 3000000 tree/a/hole
	head -c 200000 /dev/zero >tree/a/zeros
	head -c 20 /dev/zero >tree/a/few-zeros
	printf x >"tree/a/ odd	name"
	printf y >"tree/$(printf 'n%.0s' $(seq 255))"
	i=0
	while [ $i -lt 3000 ]; do
		echo $i
		i=$((i + 1))
	done | (cd tree/many && xargs touch)
	chmod 4755 tree/a/exact
	chmod 700 tree/mode
	touch -d '2001-09-09 01:46:40 UTC' tree/a/large tree/mode
	touch -d '1960-01-01 UTC' tree/a/b/tail
}

# tree_of DIR: prints names, attributes and contents
tree_of() {
	(cd "$1" && find . ! -type p ! -type d -printf \
	    '%P %y %m %s %U %G %T@ %l %n\n' | sort &&
	    find . -type d -printf '%P %m\n' | sort &&
	    find . -type f -exec sha256sum {} + | sort)
}
