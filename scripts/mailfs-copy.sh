#!/bin/sh
# mailfs-copy.sh WRITERS FROM TO LIST - the copy that mailfs measures
# SPDX-License-Identifier: BSD-2-Clause
#
# w1: one writer, in the order of the directories.  w2: two, ascending and
# descending, and each of them copies the whole tree, as published.  s2: two
# that share it: the names at odd places of one sorted list, ascending, and
# those at even ones, descending; LIST is a file for it.
#
# Two writers meet, and cpio then complains of what the other has just made;
# the study had sent that to /dev/null, and what counts is what was copied,
# which is compared afterwards.
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
