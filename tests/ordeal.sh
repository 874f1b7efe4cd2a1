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
