# shellcheck shell=sh
# ordeal.sh - puts commands through faults and signals; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

have ordeal || skip_all 'ordeal is not built'

# suffers NAME OPTION... COMMAND...: runs ordeal in this directory, named d, and
# shows how much it tried; its own output is not among the files
suffers() {
	s_name=$1
	shift
	cd .. || exit
	t "$s_name" 0 ordeal -C d "$@"
	tail -n 1 .t.out
	cd d || exit
}

# tree_to_pack: makes d/tree with something of every kind, and goes to d
tree_to_pack() {
	mkdir -p d/tree/sub
	cd d || exit
	seq 12000 >tree/n
	seq 100 >tree/sub/small
	ln tree/sub/small tree/name
	ln -s sub/small tree/link
	mkfifo tree/fifo
	truncate -s 90000 tree/hole
}
