# shellcheck shell=sh
# btrfs.sh - trees for testing the btrfs model; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

# many_small DIR: creates 6,000 files of about 100 bytes; the metadata size of a
# copy on btrfs depends on the order in which Linux writes them
many_small() {
	mkdir "$1"
	awk -v top="$1" 'BEGIN { srand(7); for (i = 0; i < 6000; i++) {
	    d = sprintf("%s/%02d", top, i / 300)
	    if (i % 300 == 0) system("mkdir " d)
	    s = ""
	    while (length(s) < 100) s = s sprintf("%05x", rand() * 1048576)
	    f = d "/file" i; print s >f; close(f)
	    } }'
}
