#!/bin/sh
# The units for systemd are right, and the options in them are layermount's.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have layermount || skip_all 'layermount is not built'
for unit in "$SRC"/examples/systemd/*.service; do
	name=${unit##*/}
	cp "$unit" "$name"
	# of the command, the words that are options; what follows is a path
	start=$(sed -n '/^ExecStart=/,/[^\\]$/p' "$unit" | tr -d '\\\n')
	for word in $start; do
		case $word in
		--*)
			t "$name: $word" 0 sh -c "layermount --help=options |
			    cut -f 1 | grep -q -x -e $word"
			;;
		esac
	done
	if have systemd-analyze; then
		sed -i 's,/usr/bin/layermount,/bin/true,' "$name"
		t "$name: systemd accepts it" 0 systemd-analyze verify --man=no \
		    "./$name"
		is 'without a remark' "$(cat .t.out .t.err)" ''
	else
		skip "$name: no systemd-analyze"
	fi
	# mounts would be hidden from whoever uses them
	t "$name: no mount namespace" 1 grep -E \
	    '^(Protect|Private|ReadOnly|ReadWrite|Inaccessible|Bind|Mount|Root)' \
	    "$name"
done
done_testing
