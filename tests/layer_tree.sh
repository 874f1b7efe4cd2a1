# shellcheck shell=sh
# layer_tree.sh - the tree that other projects' tools read; sourced
# SPDX-License-Identifier: BSD-2-Clause

# layer_tree: creates tree/, with a large file, small files and an empty one,
# a hard link, a symbolic link and a FIFO
layer_tree() {
	mkdir -p tree/bin tree/etc
	seq 900000 >tree/bin/large
	: >tree/etc/empty
	for tree_file in $(seq 200); do
		seq "$tree_file" >"tree/etc/file$tree_file"
	done
	ln tree/bin/large tree/bin/hard
	ln -s bin tree/soft
	mkfifo tree/fifo
}
