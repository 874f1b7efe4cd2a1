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

# long_and_short DIR: creates 4,000 files, of which every other one is too short
# to be compressed, so that Linux stores it later than its neighbours
long_and_short() {
	mkdir "$1"
	awk -v top="$1" 'BEGIN { for (i = 0; i < 4000; i++) {
	    d = sprintf("%s/%02d", top, i / 200)
	    if (i % 200 == 0) system("mkdir " d)
	    f = d "/file" i; s = i
	    for (k = 0; i % 2 && k < 150; k++) s = s " " (i * k * 7919) % 997
	    print s >f; close(f)
	    } }'
}
