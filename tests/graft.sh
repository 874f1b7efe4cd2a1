# shellcheck shell=sh
# graft.sh - takes layers apart and gives them a different index; sourced by
# layerpack's tests
# SPDX-License-Identifier: BSD-2-Clause
#
# The statistics of layer NAME are in NAME.stats.

# le BYTES NUMBER: prints the number as that many little-endian bytes
le() {
	le_left=$1 le_value=$2
	while [ "$le_left" -gt 0 ]; do
		printf '%b' "\\0$(printf %o $((le_value % 256)))"
		le_value=$((le_value / 256)) le_left=$((le_left - 1))
	done
}

# part FILE OFFSET LENGTH
part() { tail -c +$(($2 + 1)) "$1" | head -c "$3"; }

# stat_of NAME COLUMN: prints a value from layer NAME's statistics
stat_of() { sed -n "s/.*\"$2\":\"*\([^,\"}]*\).*/\1/p" "$1.stats"; }

# table NAME: prints a layer's index, as JSON
table() {
	at=$(stat_of "$1" index_offset_B)
	case $(stat_of "$1" format) in
	estargz)
		tail -c +$((at + 1)) "$1" | gzip -dc 2>/dev/null |
		    tar -xOf - stargz.index.json ;;
	*)
		part "$1" "$at" "$(stat_of "$1" index_B)" | zstd -qdc ;;
	esac
}

# finish FORMAT FILE: adds the table of contents, table.json, and the footer
finish() {
	at=$(wc -c <"$2")
	case $1 in
	estargz)
		cp table.json stargz.index.json
		tar --format=ustar -cf - stargz.index.json | gzip -n >>"$2"
		printf '\037\213\010\4\0\0\0\0\0\377\032\0SG\026\0%016xSTARGZ' \
		    "$at" >>"$2"
		printf '\1\0\0\377\377\0\0\0\0\0\0\0\0' >>"$2" ;;
	*)
		zstd -qf table.json -o table.zst
		{
			printf '\120\052\115\030'
			le 4 "$(wc -c <table.zst)"
			cat table.zst
			printf '\120\052\115\030'
			le 4 64
			le 8 $((at + 8))
			le 8 "$(wc -c <table.zst)"
			le 8 "$(wc -c <table.json)"
			le 8 1
			le 8 0; le 8 0; le 8 0
			printf GNUlInUx
		} >>"$2" ;;
	esac
}
