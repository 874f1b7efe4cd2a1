#!/bin/sh
# Includes go downward only; a header that is used in only one folder must be in
# that folder.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

# edges: prints, for every #include of our own headers, the file, its folder,
# the header and its folder, separated by tabs
# shellcheck disable=SC2016
edges() {
	(cd "$SRC" && find src include -name '*.[ch]' | sort |
	    xargs awk -v OFS='\t' '
	FNR == 1 {
		folder = FILENAME
		sub("^(src|include)/", "", folder)
		sub("/[^/]*$", "", folder)
	}
	/^#include "/ {
		split($0, part, "\"")
		to = part[2]
		if (!sub("/[^/]*$", "", to))
			to = folder
		print FILENAME, folder, part[2], to
	}')
}

# rank: lists the layers from the bottom; layers on the same line do not depend
# on each other
upward() {
	awk -F '\t' '
	BEGIN {
		n = split("base|pipeline measure|engine|format|walk|image|" \
		    "fs mail lazy|advise|tools", layer, "|")
		for (i = 1; i <= n; i++) {
			m = split(layer[i], name, " ")
			for (k = 1; k <= m; k++)
				rank[name[k]] = i
		}
	}
	{
		split($2, from, "/")
		split($4, to, "/")
		if (!(from[1] in rank) || !(to[1] in rank))
			print $1 ": no layer is known for " $2 " or " $4
		else if (rank[to[1]] > rank[from[1]] ||
		    (rank[to[1]] == rank[from[1]] && to[1] != from[1]))
			print $1 " includes " $3
		else if (from[1] == "tools" && to[1] == "tools" && $2 != $4)
			print $1 " includes " $3 " of another tool"
	}' of_headers
}

# A header in include/ must be used by two folders, or by another such header.
lonely() {
	(cd "$SRC/include" && find . -name '*.h' | sed 's,^\./,,') |
	    awk -F '\t' '
	NR == FNR {
		folder = $1
		sub("/[^/]*$", "", folder)
		home[$1] = folder
		next
	}
	$3 in home && ($2 != home[$3] || $1 ~ "^include/") { used[$3] = 1 }
	END {
		for (header in home)
			if (!(header in used))
				print header
	}' - of_headers
}

edges >of_headers
t 'there are includes to look at' 0 test "$(wc -l <of_headers)" -gt 300
is 'no include goes upward' "$(upward)" ''
is 'headers include by path'\''s own' "$(lonely)" ''
done_testing
