#!/bin/sh
# The packages that doc/building.md lists for each tool are those of the
# libraries with which it has been linked.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have dpkg-query || skip_all 'not a Debian system'
have objdump || skip_all 'no objdump'
[ -e "$BIN/pzc" ] || skip_all 'pzc is not built'
! sanitized pzc || skip_all 'a sanitizer adds libraries'
page=$SRC/doc/building.md

tools='pzc pzseek lap lapcmp coldwalk fsratio mailgen sqpack layerpack
    layermount touchlog winwait'

# libraries TOOL: prints what it is linked with, as ld(1) finds it
libraries() {
	objdump -p "$BIN/$1" | sed -n 's/^ *NEEDED *//p' |
	    sed 's/[.]so[.].*/.so/' | grep -v -E '^(lib[cm]|ld-linux.*)[.]so$'
}

# the packages of all libraries: lines of package and file
for tool in $tools; do
	[ ! -e "$BIN/$tool" ] || libraries "$tool"
done | sort -u | sed 's,^,*/,' >all
xargs dpkg-query -S <all 2>/dev/null |
    sed -n 's,^\([^ :]*-dev\)[:, ].*/\(.*\)$,\1 \2,p' >packages

# linked TOOL: prints the -dev packages of its libraries
linked() {
	libraries "$1" >some
	awk 'NR == FNR { want[$0]; next } $2 in want { print $1 }' some \
	    packages | sort -u | tr '\n' ' '
}

# listed TOOL COLUMN...: prints the packages in these columns of its row
listed() {
	awk -F '|' -v tool="$1" -v columns="$2" '
	{
		n = split($2, tools, /[ ,]+/)
		for (i = 1; i <= n; i++)
			if (tools[i] == tool) row = $0
	}
	END {
		split(row, cell, "|")
		m = split(columns, c, " ")
		for (k = 1; k <= m; k++) {
			n = split(cell[c[k]], word, /[ :]+/)
			for (i = 1; i <= n; i++)
				if (word[i] ~ /^lib.*-dev$|^zlib1g-dev$/)
					print word[i]
		}
	}' "$page" | sort -u | tr '\n' ' '
}

# without A B: prints the words of A that are not in B
without() {
	for word in $1; do
		case " $2 " in
		*" $word "*) ;;
		*) printf '%s ' "$word" ;;
		esac
	done
}

for tool in $tools; do
	[ -e "$BIN/$tool" ] || continue
	uses=$(linked "$tool")
	is "$tool: what it uses is listed" \
	    "$(without "$uses" "$(listed "$tool" '3 4')")" ''
	is "$tool: what it needs is used" \
	    "$(without "$(listed "$tool" 3)" "$uses")" ''
done
# The command above the table, and the set-up scripts, name the same packages.
t 'the table is there' 0 grep -q '^| pzc, pzseek | zlib1g-dev ' "$page"
# shellcheck disable=SC1091
build_packages=$(. "$SRC/scripts/setup.sh" && echo "$build_packages")
line=$(sed -n '/apt install/,/^$/p' "$page" | tr -s ' \\\n' '   ' |
    sed 's/apt install//')
table=$(grep '^|' "$page" | grep -v '^| tests' | grep -o -E \
    '(lib[a-z0-9-]*|zlib1g)-dev' | sort -u | tr '\n' ' ')
is 'scripts/setup.sh installs the same' "$(for word in $line libc6-dev; do
	echo "$word"; done | sort | tr '\n' ' ')" "$(for word in $build_packages; do
	echo "$word"; done | sort | tr '\n' ' ')"
is 'the table has no others' "$(without "$table" "$line")" ''
is 'and has them all' "$(without "$line" \
    "$table cmake make gcc pkg-config")" ''
done_testing
