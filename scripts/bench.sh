# shellcheck shell=sh
# bench.sh - the trees and table cells of benchmarks; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154
#
# The sourcing script sets $study, the directory for all files; $given, a
# directory to use instead of this machine's files, or empty; $mib; and $many.

# mixed DIR: makes $mib MiB of programs, libraries and their data
mixed() {
	find "${given:-/usr}" -xdev -type f -size +8k -print0 2>/dev/null |
	    sort -z | tar --null -T - -cf - 2>/dev/null |
	    head -c $((mib << 20)) | tar -xf - -C "$1" 2>/dev/null || :
}

# small DIR: makes $many files smaller than 64 KiB
small() {
	find "${given:-/usr}" /etc /var/lib -xdev -type f -size -64k -print0 \
	    2>/dev/null | head -z -n "$many" |
	    tar --null -T - -cf - 2>/dev/null | tar -xf - -C "$1"
}

# key_stream: prints an endless, reproducible stream of incompressible bytes
key_stream() {
	openssl enc -aes-128-ctr -K 0 -iv 0 -in /dev/zero 2>/dev/null
}

# textures DIR: makes 1,000 files of 700,000 bytes, like those of a game.  Of
# every ten files, six are incompressible (like PNG or Ogg); three shrink by a
# sixtieth, because some bytes are more frequent (like JPEG); one is a model
# stored as text.
textures() {
	# shellcheck disable=SC2016
	key_stream | head -c 700000000 | (cd "$1" && split -a 3 -d \
	    -b 700000 --filter '
	case $FILE in
	*[0-5]) cat ;;
	*[6-8]) tr "\200-\217" "\000-\017" ;;
	*9) base64 | head -c 700000; cat >/dev/null ;;
	esac >"$FILE"' - texture)
}

# tree KIND: makes a tree, unless it exists
tree() {
	[ ! -e "$study/$1" ] || return 0
	say "making the tree $1"
	rm -rf "$study/$1.new"
	mkdir -p "$study/$1.new"
	"$1" "$study/$1.new"
	mv "$study/$1.new" "$study/$1"
}

# compared REFERENCE KEYS ROWS: prints lapcmp's results for one job: label,
# metric, median, ratio, interval, pairs
compared() {
	lapcmp --csv -k "$2" -r "$1" "$3" 2>/dev/null |
	    csv 'csv_row() {
		print get("label"), get("metric"), get("median_s"),
		    get("ratio"), get("ratio_lo"), get("ratio_hi"),
		    get("pairs")
	}' OFS="$tab"
}

# cell LABEL METRIC: prints "0.42 (0.41..0.43)", from $study/compared
cell() {
	awk -F "$tab" -v l="$1" -v m="$2" '
	    $1 == l && $2 == m && $5 == "" { printf "%.3f (n < 6)", $4 }
	    $1 == l && $2 == m && $5 != "" {
		printf "%.3f (%.3f..%.3f)", $4, $5, $6 }' "$study/compared"
}
