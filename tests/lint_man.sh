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

# options_shown PAGE: checks that the manual has an entry for every name of
# every option, and for no other; for levels, -0 stands for all.  The usage may
# not name another option either.
options_shown() {
	tool=$(basename "$1" | sed 's/\.[0-9]$//')
	have "$tool" || return 0
	# a script, whose options are those of its verbs
	[ "$tool" != coldpress ] || return 0
	"$tool" --help=options >lines || return 1
	cut -f 1 lines >options
	grep -v '^-[1-9]$' options | sort -u >known
	"$tool" --help | sed '/^$/q' | grep -o -E -e '--[a-z][a-z-]*' |
	    sort -u | comm -23 - known >strange
	cat strange
	[ ! -s strange ] || return 1
	awk '/^\.It Fl/ {
		option = 0
		for (i = 2; i <= NF; i++) {
			if ($i ~ /^[A-Z][a-z]$/)
				option = $i == "Fl"
			else if (option && $i ~ /^[A-Za-z-]|^0$/)
				print "-" $i
		}
	}' "$1" | sort -u >shown
	# a build without SQLite, or without OCI layouts, lacks some of these
	case $tool in
	layer*)
		printf '%s\n' --catalog --image --key --name --platform |
		    comm -23 - known | comm -13 - shown >rest
		mv rest shown
		;;
	esac
	diff known shown
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
