#!/bin/sh
# gzip output is readable under the kernel's rules, which allow only a ten-byte
# header and a name (tests/kernel_gunzip.c).
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

gunzip=$BIN/tests/kernel_gunzip
# more than one block, and a small file with only one
seq 400000 >text
seq 10 >small

# reads NAME OPTIONS...: checks that pzc's output with these options is read
# back
reads() {
	r_name=$1
	shift
	for input in text small; do
		pzc "$@" -c $input >packed.gz
		t "$r_name: $input" 0 to back "$gunzip" <packed.gz
		same "$r_name: $input, the bytes" back $input
		pzc "$@" <$input >packed.gz
		t "$r_name: $input from standard input" 0 to back "$gunzip" \
		    <packed.gz
		same "$r_name: $input from standard input, the bytes" back \
		    $input
	done
}

reads default
for level in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
	reads "-$level" -$level
done
for option in -n -N -T -M -R -H -U -p1 -p4 '-b 64' '-b 2000' -A=other \
    --fast --best --flush-ms=1000 --adapt '-9 -n -T -R' '-n -9'; do
	case $option in
	-A=other) reads '-A other' -A other ;;
	*)
		# shellcheck disable=SC2086
		reads "$option" $option ;;
	esac
done
# a 255-byte name
long=$(printf '%0252d.gz' 7)
mv text "${long%.gz}" && pzc -k "${long%.gz}"
t 'a long name' 0 to back "$gunzip" <"$long"
same 'a long name, the bytes' back "${long%.gz}"
mv "${long%.gz}" text

# The reader rejects the fields that the kernel does not skip
pzc -i -c text >members.gz
t 'members written with -i are not read' 1 to back "$gunzip" <members.gz
pzc -C 'a comment' -c text >comment.gz
t 'nor is a comment' 1 to back "$gunzip" <comment.gz

done_testing
