#!/bin/sh
# mailfs-copy.sh WRITERS FROM TO LIST - the copy that mailfs measures
# SPDX-License-Identifier: BSD-2-Clause
# w1: one writer, in directory order.  w2: two writers, one ascending and one
# descending, each of which copies the whole tree, as published. s2: two writers
# that share the tree: one copies the odd lines of a sorted list in ascending
# order, and the other the even lines in descending order; LIST is the file in
# which to store that list.
#
# When two writers meet, cpio complains about files that the other has just
# created; the study discarded these messages, and the copy is verified
# afterwards.
set -u
cd "$2" || exit
into() { cpio -pdu --quiet "$1"; }
case $1 in
w1) find . | into "$3" ;;
w2)
	find . | sort | into "$3" &
	find . | sort -r | into "$3" &
	wait
	;;
s2)
	find . | sort >"$4" || exit
	awk 'NR % 2' "$4" | into "$3" &
	awk 'NR % 2 == 0' "$4" | sort -r | into "$3" &
	wait
	;;
*) exit 2 ;;
esac
