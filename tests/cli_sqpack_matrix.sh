#!/bin/sh
# Files of about one block are read back intact from every image, by every
# reader.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/sqpack_matrix.sh
. "$SRC/tests/sqpack_matrix.sh"

have openssl || skip_all 'no openssl to make noise'

# came NAME COMMAND...: checks that the command extracts the tree to out
came() {
	came_name=$1
	shift
	rm -rf out
	t "$came_name" 0 "$@"
	t "$came_name: the same tree" 0 diff -r tree out
}

read_back() {
	came "$1: sqpack -x" sqpack -x out image
	! have unsquashfs || came "$1: unsquashfs" unsquashfs -q -n -d out image
	case $1 in
	lzo*) ;;		# libsquashfs does not support it
	*) ! have rdsquashfs || came "$1: rdsquashfs" \
	    rdsquashfs -q -u / -p out image ;;
	esac
	t "$1: rebuilt" 0 sqpack --rebuild-check -q image
}
matrix read_back
have unsquashfs || skip 'unsquashfs is not installed'
have rdsquashfs || skip 'rdsquashfs is not installed'
done_testing
