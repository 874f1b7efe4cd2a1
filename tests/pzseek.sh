# shellcheck shell=sh
# pzseek.sh - compares what pzseek writes with the plain file; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

have pzseek || skip_all 'pzseek is not built'

# range FILE OFFSET LENGTH: prints a range of a plain file
range() { tail -c "+$(($2 + 1))" "$1" | head -c "$3"; }

# check NAME FILE PLAIN OPTION...: checks ranges at all kinds of positions
check() {
	c_name=$1 c_file=$2 c_plain=$3
	shift 3
	c_size=$(wc -c <"$c_plain")
	c_bad=
	for c_at in 0 65535 65536 1048575 1048576 3145728 \
	    $((c_size / 2 - 100000)) $((c_size / 2)) $((c_size - 1)); do
		for c_len in 1 1048577 2500000; do
			range "$c_plain" "$c_at" "$c_len" >.want
			pzseek "$@" "$c_file" "$c_at:$c_len" >.got 2>.err &&
			    cmp -s .want .got || c_bad="$c_bad $c_at:$c_len"
		done
	done
	is "$c_name: ranges" "$c_bad" ''
	tail -c 1000000 "$c_plain" >.want
	t "$c_name: the end" 0 to .got pzseek "$@" "$c_file" -1000000:
	same "$c_name: the end is right" .got .want
	head -c 70000 .want >.want2
	t "$c_name: part of the end" 0 to .got pzseek "$@" "$c_file" \
	    -1000000:70000
	same "$c_name: part of the end is right" .got .want2
	t "$c_name: from an offset to the end" 0 to .got pzseek "$@" "$c_file" \
	    $((c_size - 1000000)):
	same "$c_name: to the end" .got .want
	t "$c_name: all" 0 to .got pzseek "$@" "$c_file" 0:
	same "$c_name: all is right" .got "$c_plain"
	t "$c_name: past the end" 0 to .got pzseek "$@" "$c_file" \
	    "$c_size:10" $((c_size + 5)): 5:0
	is "$c_name: past the end there is nothing" "$(wc -c <.got)" 0
}

# The data is text, then incompressible bytes, then text.
{
	seq 1 400000
	dd if=/dev/urandom bs=1M count=2 2>/dev/null
	seq 1 300000
} >plain
size=$(wc -c <plain)
