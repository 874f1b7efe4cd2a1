#!/bin/sh
# A million names of half a million files, and of twenty: the tools that track
# hard links need bounded memory and time.
# SPDX-License-Identifier: BSD-2-Clause
# COLDPRESS_LINKS is the number of names (1000000).
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have lap || skip_all 'no lap to measure with'
have python3 || skip_all 'no python3 to make the names'
! sanitized pzc || skip_all "a sanitizer's memory is not the tools'"
names=${COLDPRESS_LINKS:-1000000}

# make FILES: makes the names, in directories of 10000, with that many inodes
make() {
	python3 - "$1" "$names" <<'P'
import os, sys
files, names = int(sys.argv[1]), int(sys.argv[2])
for i in range(names):
    folder = f"tree/{i // 10000}"
    if i % 10000 == 0:
        os.makedirs(folder)
    if i < files:
        with open(f"{folder}/{i}", "w") as f:
            f.write(str(i))
    else:
        os.link(f"tree/{i % files // 10000}/{i % files}", f"{folder}/{i}")
P
}
# bounded NAME COMMAND...: at most 1 KiB and 200 us per name
bounded() {
	b_name=$1
	shift
	rm -f rows
	t "$b_name" 0 lap -q -n 1 --stdout out -o rows -l x -- "$@"
	echo "# $(col rows wall_s) s, $(col rows maxrss_KiB) KiB"
	t "$b_name: memory" 0 test "$(col rows maxrss_KiB)" -le \
	    $((names + 65536))
	t "$b_name: time" 0 test "$(col rows wall_s | cut -d . -f 1)" -le \
	    $((names / 5000 + 10))
}

for files in $((names / 2)) 20; do
	make $files || skip_all 'the filesystem has no room for so many names'
	if have coldwalk; then
		bounded "$files: coldwalk" coldwalk -q --cold none tree
		is 'all lines' "$(wc -l <out)" "$names"
	fi
	! have fsratio || bounded "$files: fsratio" fsratio -q -a off tree
	if have sqpack; then
		bounded "$files: sqpack" sqpack -q -F lz4 -o image tree
		bounded "$files: sqpack -l" sqpack -q -l image
		is 'all names' "$(wc -l <out)" $((names + names / 10000))
		! have coldwalk || bounded "$files: coldwalk image" \
		    coldwalk -q --memory 2G image
		rm -f image
	fi
	if have layerpack; then
		tar --sort=name -cf a.tar -C tree .
		bounded "$files: layerpack" layerpack -q -F estargz -L 1 \
		    -o layer a.tar
		bounded "$files: layerpack -t" layerpack -t layer
		rm -f a.tar layer
	fi
	rm -rf tree
done
done_testing
