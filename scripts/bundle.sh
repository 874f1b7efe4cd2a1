# shellcheck shell=sh
# bundle.sh - rows of studies and runs in one archive, to be sent to somebody;
# sourced
# SPDX-License-Identifier: BSD-2-Clause

# bundle_rows OPERAND: prints the rows, without comments
bundle_rows() {
	if [ -d "$1" ]; then
		find "$1/rows" -name '[!.]*.csv' -exec cat {} + 2>/dev/null |
		    awk '/^#/ { next }
		    !head { head = $0; print; next }
		    $0 != head'
	else
		sed '/^#/d' "$1"
	fi
}

# bundle_comments OPERAND: prints the comments that say where they come from
bundle_comments() {
	if [ -d "$1" ]; then
		cat "${1%.d}.provenance" 2>/dev/null ||
		    find "$1/rows" -name '[!.]*.csv' -exec cat {} + |
		    awk '/^#/ && !seen[$0]++'
	else
		cat "$1.provenance" 2>/dev/null || sed -n '/^#/p' "$1"
	fi
}

# bundle_one OPERAND NUMBER: adds an operand to the archive
bundle_one() {
	bundle_rows "$1" >"$tmp/rows"
	bundle_comments "$1" >"$tmp/comments"
	[ -s "$tmp/rows" ] || die "$1: there are no rows"
	if [ -n "$bundle_names" ]; then
		cp "$tmp/rows" "$bundle_dir/$2.csv"
		cp "$tmp/comments" "$bundle_dir/$2.provenance"
	else
		run_awk bundle known="$tmp/known" "$tmp/rows" \
		    >"$bundle_dir/$2.csv"
		# what the machine and the programs are, but no paths, no words of
		# commands, no name of the machine
		sed -n '/^# \(host\|node\|argv\|command\|input\|cgroup\|source\|setting\|series\)s*:/d
		/^# [A-Za-z0-9_.+ -]*: [^/]*$/p' "$tmp/comments" |
		    awk '!seen[$0]++' >"$bundle_dir/$2.provenance"
	fi
	printf '%s.csv\t%s rows\n' "$2" \
	    "$(($(wc -l <"$bundle_dir/$2.csv") - 1))" >>"$bundle_dir/CONTENTS"
}

# bundle FILE OPERAND...: writes the archive, complete or not at all
bundle() {
	bundle_file=$1
	shift
	report_operands "$@"
	need tar pzc
	[ ! -e "$bundle_file" ] || die "$bundle_file exists"
	case $bundle_file in
	*.tar.gz | *.tgz | *.tar.zst | *.tar.xz | *.tar.bz2 | *.tar.lz4) ;;
	*) misused "'$bundle_file' does not end with .tar.gz or .tar.zst" ;;
	esac
	bundle_name=${bundle_file##*/}
	bundle_name=${bundle_name%.t*}
	bundle_dir=$tmp/$bundle_name
	mkdir "$bundle_dir"
	: >"$tmp/known"
	bundle_n=0
	for bundle_operand; do
		bundle_n=$((bundle_n + 1))
		bundle_one "$bundle_operand" "$bundle_n"
	done
	tar -C "$tmp" --sort=name --owner=0 --group=0 --numeric-owner -cf - \
	    "$bundle_name" | pzc -q -n -o "$bundle_file"
	say "$bundle_file: $bundle_n of rows, $(wc -l <"$tmp/known") names as numbers; tar -xf shows what is in it"
}
