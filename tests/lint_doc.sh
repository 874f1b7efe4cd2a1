#!/bin/sh
# The files that the map names exist, and each source file says what it is for;
# links between the pages are valid.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

# lost: prints the files and folders that the map names and that do not exist.
# A name without a folder is that of a file anywhere in src, include or scripts.
# shellcheck disable=SC2016
lost() {
	grep -o '`[^`]*`' "$SRC/doc/architecture.md" | tr -d '`' |
	    grep -E '^[A-Za-z0-9_./-]+$' |
	    grep -E '/|\.(c|h|sh|md|cmake|awk)$' | grep -v NAME |
	    LC_ALL=C sort -u |
	    while IFS= read -r name; do
		case $name in
		*/*)
			[ -e "$SRC/$name" ] || [ -e "$SRC/src/$name" ] ||
			    [ -e "$SRC/include/$name" ] || echo "$name"
			;;
		*)
			[ -n "$(find "$SRC/src" "$SRC/include" "$SRC/scripts" \
			    "$SRC/cmake" -name "$name")" ] || echo "$name"
			;;
		esac
	    done
}

# headless: prints source files whose second line does not say what they are for
headless() {
	(cd "$SRC" && find src -name '*.c' | LC_ALL=C sort |
	    while IFS= read -r file; do
		sed -n '2p' "$file" | grep -q "^ \* ${file##*/} - ." ||
		    echo "$file"
	    done)
}

# broken: prints links to files that do not exist
broken() {
	for page in README.md SECURITY.md doc/*.md; do
		grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//; s/)$//' |
		    while IFS= read -r link; do
			[ -e "$(dirname "$page")/$link" ] ||
			    echo "$page: $link"
		    done
	done
}

t 'the map names files' 0 test "$(grep -c '\.c`' \
    "$SRC/doc/architecture.md")" -gt 10
is 'doc/architecture.md names missing files' "$(lost)" ''
is 'files that do not say what they are for' "$(headless)" ''
cd "$SRC" || exit 1
is 'no dead links' "$(broken)" ''
done_testing
