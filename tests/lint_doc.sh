#!/bin/sh
# The map lists all source files and nothing else, each with the sentence from
# its header comment; links between the pages are valid.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# files: prints "src/FOLDER/NAME.c sentence" from the sources
files() {
	(cd "$SRC" && find src -name '*.c' | LC_ALL=C sort |
	    while IFS= read -r file; do
		printf '%s %s\n' "$file" \
		    "$(sed -n '2s/^ \* [^ ]* - //p' "$file")"
	    done)
}

# mapped: prints the same lines from the map
# shellcheck disable=SC2016
mapped() {
	sed -n -e 's,^### \(src/.*\),\1,p' -e 's/^- `\([^`]*\)`: /- \1 /p' \
	    "$SRC/doc/architecture.md" | awk '
	/^src/ { folder = $1; next }
	{ sub("^- ", ""); print folder "/" $0 }' | LC_ALL=C sort
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

files | LC_ALL=C sort >want
mapped >got
t 'there are source files' 0 test "$(wc -l <want)" -gt 200
is 'doc/architecture.md names missing files' \
    "$(LC_ALL=C comm -13 want got)" ''
is 'doc/architecture.md lacks files of src' \
    "$(LC_ALL=C comm -23 want got)" ''
cd "$SRC" || exit 1
is 'no dead links' "$(broken)" ''
done_testing
