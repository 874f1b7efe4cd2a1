#!/bin/sh
# Every manual passes mandoc's lint, and has the required sections.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have mandoc || skip_all 'no mandoc'

# sections PAGE: checks that every section exists
sections() {
	for section in NAME SYNOPSIS DESCRIPTION ENVIRONMENT 'EXIT STATUS' \
	    EXAMPLES 'SEE ALSO' CAVEATS; do
		grep -q "^\.Sh $section\$" "$1" || {
			echo "no section $section"
			return 1
		}
	done
}

# Only style messages are allowed: mandoc exits with 2 for a warning, 1 for
# style.
lint() { mandoc -T lint -W warning "$1"; }

# options_shown PAGE: checks that every letter that -h lists is in the manual
options_shown() {
	tool=$(basename "$1" | sed 's/\.[0-9]$//')
	have "$tool" || return 0
	mandoc -T ascii "$1" | command col -bx >page
	"$tool" -h >help || return 1
	sed -n 's/^ *\(-[A-Za-z0-9]\)[ ,].*/\1/p' help | sort -u >letters
	while read -r letter; do
		grep -q -e "$letter" page || {
			echo "$tool -h lists $letter, but the manual does not"
			return 1
		}
	done <letters
}

# fits PAGE: checks that groff formats the page for 80 columns without a warning
# or a line that does not fit (a table whose columns are too wide)
fits() {
	groff -mandoc -Tascii -P-bcou -rLL=80n "$1" >page 2>warnings || return 1
	head -n 3 warnings
	[ ! -s warnings ] || return 1
	awk 'length > 80 { print; wide = 1 } END { exit wide }' page
}

for page in "$SRC"/man/*.[1-8]; do
	[ -e "$page" ] || skip_all 'no manuals'
	name=$(basename "$page")
	t "$name: lint" 0 lint "$page"
	t "$name: sections" 0 sections "$page"
	t "$name: options" 0 options_shown "$page"
	if have groff; then
		t "$name: fits 80 columns" 0 fits "$page"
	else
		skip "$name: no groff"
	fi
done
done_testing
