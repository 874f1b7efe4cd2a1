#!/bin/sh
# All tools suggest a correction for a misspelled command line.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# typo STATUS TOOL TYPED MEANT: checks the suggestion; '' means that no option
# is similar
typo() {
	t "$2 $3" "$1" "$2" "$3"
	is "$2 $3: nothing is written" "$(cat .t.out)" ''
	is "$2 $3: the suggestion" "$(sed -n \
	    "s/^Did you mean '\(.*\)'?  Try '.*'\.$/\1/p" .t.err)" "$4"
	is "$2 $3: its position" "$(tail -n 1 .t.err |
	    sed -n "s/.*Try '\(.*\)'\.$/\1/p")" "$2 --help"
}

for tool in lap lapcmp coldwalk fsratio mailgen pzseek sqpack layerpack \
    layermount; do
	have $tool || continue
	status=1
	[ $tool != lap ] || status=125
	typo $status $tool --hlep --help
	typo $status $tool --vresion=2 --version
	typo $status $tool --frobnicate ''
	typo $status $tool -Q ''
	t "$tool --help" 0 $tool --help
	is "$tool --help describes options" \
	    "$(grep -q '^  -[a-z-].*  *[a-z]' .t.out && echo yes)" yes
	is "$tool --help fits" "$(awk 'length($0) > 80' .t.out)" ''
done

if have lap; then
	t 'a line for the shell' 0 lap -q -n 1 -o line.csv 'echo f | cat'
	t 'a missing command' 127 lap nowhere
	t 'lapcmp of a directory' 1 lapcmp .
	shows 'says that it is one' ': Is a directory$' .t.err
fi
if have pzseek; then
	seq 1000 >text
	pzc -k text
	t 'no range' 1 pzseek text.gz
	shows 'is reported as missing' 'a range is missing' .t.err
	t 'past the end' 0 pzseek text.gz 1M:10
	shows 'is reported' '1M:10: begins past the end of the data$' .t.err
	t 'partly past the end' 0 pzseek text.gz 3890:10
	shows 'is reported' \
	    '3890:10: the data ends after 3 bytes of the range$' .t.err
	t 'to the end' 0 pzseek text.gz 3890:
	is 'is not past it' "$(cat .t.err)" ''
	t 'quiet' 0 pzseek -q text.gz 1M:10
	is 'is silent' "$(cat .t.err)" ''
fi
if have mailgen; then
	t 'a missing directory' 1 mailgen typo
	shows 'is missing' 'No such file or directory (-n creates it)' .t.err
	t 'really not' 1 test -e typo
	t '-n creates it' 0 mailgen -n 3 typo
fi
if have fsratio; then
	mkdir none
	t 'a tree without files' 0 fsratio none
	is 'has no table' "$(cat .t.out)" ''
	shows 'but a message' 'there are no files under none$' .t.err
	mkdir small
	echo x >small/a
	echo y >small/b
	t 'a tree that takes more space than its files' 0 fsratio small
	shows 'is reported as larger' ' 0\.[0-9]* larger$'
fi
done_testing
