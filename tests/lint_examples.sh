#!/bin/sh
# Runs the examples in the manuals, and what README says to type.
# SPDX-License-Identifier: BSD-2-Clause
# In a manual's EXAMPLES section, a line ".Dl $ COMMAND", or "$ COMMAND" in a
# literal display, is a command, which may be continued after \e.  A page's
# commands run in order, in a directory with file, a text; dir, a small tree; and
# whatever the page's lines '.\" Fixture: COMMAND' create.
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/oci.sh"

# commands PAGE: prints its examples in sh syntax, one per line
commands() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$1" |
	    sed -n -e 's/^\.Dl \$ //p' \
	    -e '/^\$ /{:a' -e '/\\e$/{N;s/\\e\n */ /;ba' -e '}' \
	    -e 's/^\$ //p' -e '}' |
	    sed -e 's/\\&//g' -e 's/\\(dq/"/g' -e "s/\\\\(aq/'/g" \
	    -e "s/\\\\(cq/'/g" -e 's/\\(ti/~/g' -e 's/\\(ha/^/g' \
	    -e 's/\\(ga/`/g' -e 's/\\-/-/g' -e 's/\\e/\\/g' \
	    -e 's/\\\[rs\]/\\/g'
}

fixtures() {
	mkdir dir dir/sub
	seq 20000 >file
	seq 5000 >dir/numbers
	seq 300 | tr 0-9 a-j >dir/sub/letters
	cp file dir/copy
	cp file f
	cp -R dir d
	sed -n 's/^\.\\" Fixture: //p' "$1" >fixtures.sh
	sh -e fixtures.sh
	rm fixtures.sh
}

# coldpress runs from the sources, and keeps its rows here
run_line() {
	PATH=$PATH:$SRC/scripts XDG_STATE_HOME=$PWD/state timeout 1800 \
	    sh -c "$1" </dev/null
}

pages=0
for page in "$SRC"/man/*.[1-8]; do
	[ -e "$page" ] || break
	name=$(basename "$page")
	have "${name%.*}" || continue
	pages=$((pages + 1))
	commands "$page" >lines
	# examples for root are not run here
	t "$name has examples" 0 grep -q '^\.Dl [#$] ' "$page"
	mkdir "in.$name"
	cd "in.$name" || exit 1
	t "$name: fixtures" 0 fixtures "$page"
	while read -r line <&3; do
		t "$name: $line" 0 run_line "$line"
	done 3<../lines
	cd ..
done
[ "$pages" -gt 0 ] || skip_all 'no manuals'

# typed: prints the commands of README's "I have ..., what do I type?", with
# names in place of the words in capitals
# shellcheck disable=SC2016
typed() {
	sed -n '/^## I have/,/^## Five/s/^|[^|]*| *\(`.*\) |$/\1/p' \
	    "$SRC/README.md" | grep -o '`[^`]*`' | tr -d '`' |
	    sed 's/\\|/|/g; s/-- A -- B/-- true -- cat file/
	    s/NEW-LAYOUT/new/; s/LAYOUT:TAG/layout:one/; s/IMAGE/image/g
	    s/FILE/file/g; s/COMMAND/cat file/; s/\bDIR\b/dir/g'
}

mkdir in.README
cd in.README || exit 1
HOME=$PWD
export HOME
mkdir bin dir
seq 20000 >file
cp file dir
pzc -k file
layer dir gzip
manifest one
typed >../typed
is 'README has ten lines, one of two commands' "$(grep -c . ../typed)" 11
! have sqpack || sqpack -o image dir
while read -r line <&3; do
	case $line in
	winwait*)
		[ -n "${DISPLAY:-}" ] || {
			skip "$line: no display"
			continue
		}
		;;
	touchlog*)
		[ "$(id -u)" = 0 ] || {
			skip "$line: not root"
			continue
		}
		# it makes all mounts private, for which there must be one
		mountpoint -q / || {
			skip "$line: / is not a mount point"
			continue
		}
		;;
	sqpack*) rm -f image ;;
	esac
	tool=${line%% *}
	case $tool in
	tar | ln) tool=pzc ;;
	coldpress) [ -x "$SRC/scripts/coldpress" ] &&
	    PATH=$PATH:$SRC/scripts ;;
	esac
	if have "$tool"; then
		t "README: $line" 0 run_line "$line"
	else
		skip "$line: no $tool"
	fi
done 3<../typed
cd ..
done_testing
