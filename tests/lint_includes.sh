#!/bin/sh
# Imports go downward only; a header that one folder uses stays in it.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# edges: of every #include of a header of ours, the file, its folder, the
# header and the folder of that, tab between them
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

# rank: layers from the bottom; what is on one line knows nothing of the rest
upward() {
	awk -F '\t' '
	BEGIN {
		n = split("base|pipeline measure|engine|format|walk|image|" \
		    "fs mail lazy|tools", layer, "|")
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

# A header of include/ is used by two folders, or by such a header.
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
is 'no header of include/ is one folder'\''s own' "$(lonely)" ''
done_testing
