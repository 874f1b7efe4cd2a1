# shellcheck shell=sh
# advise.sh - the verbs advise, explain and apply of coldpress; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# advise stores its rows in $advise_rows, one file for each time; explain and
# apply read the newest, or that of -o.
advise_rows=${XDG_STATE_HOME:-${HOME:-}/.local/state}/coldpress/advise

# advise_tool ARGUMENT...: runs coldpress-advise with the facts about readers
advise_tool() {
	advise_program=$here/coldpress-advise
	[ -x "$advise_program" ] || advise_program=coldpress-advise
	have "$advise_program" || die 'coldpress-advise is not installed'
	"$advise_program" --readers "$here/readers.tsv" "$@"
}

# newest_rows: prints the rows of the last time, if any
newest_rows() {
	# the names are dates
	find "$advise_rows" -maxdepth 1 -name '*.csv' 2>/dev/null | sort |
	    tail -n 1
}

# advise ARGUMENT...: the status is that of coldpress-advise
advise() {
	advise_out='' advise_last='' advise_quiet=''
	for advise_word in "$@"; do
		case $advise_word in
		-h | --help* | -V | --version | --list*)
			advise_tool "$@"
			return
			;;
		-o* | --output | --output=*) advise_out=given ;;
		-q | --quiet | --json) advise_quiet=yes ;;
		esac
	done
	# --since LAST is the rows of the last time
	advise_count=$#
	while [ "$advise_count" -gt 0 ]; do
		advise_word=$1
		shift
		advise_count=$((advise_count - 1))
		case $advise_word:${1:-} in
		--since:LAST) advise_last=2 ;;
		--since=LAST:*) advise_last=1 ;;
		esac
		if [ -n "$advise_last" ]; then
			[ "$advise_last" = 1 ] || {
				shift
				advise_count=$((advise_count - 1))
			}
			advise_word=--since=$(newest_rows)
			advise_last=
			[ "$advise_word" != --since= ] || continue
		fi
		set -- "$@" "$advise_word"
	done
	if [ -z "$advise_out" ]; then
		mkdir -p "$advise_rows" ||
		    die "$advise_rows cannot be created: use -o ROWS"
		advise_out=$advise_rows/$(date -u +%Y%m%dT%H%M%SZ)-$$.csv
		set -- -o "$advise_out" "$@"
	fi
	advise_status=0
	advise_tool "$@" || advise_status=$?
	[ -n "$advise_quiet" ] || [ ! -e "$advise_out" ] ||
	    echo "rows: $advise_out"
	return $advise_status
}

# advise_operands ARGUMENT...: sets $number and $rows, and $dry for -n
advise_operands() {
	rows='' number='' dry=''
	while [ $# -gt 0 ]; do
		case $1 in
		-o)
			[ $# -gt 1 ] || misused '-o needs a value'
			rows=$2
			shift
			;;
		-o*) rows=${1#-o} ;;
		-n) dry=yes ;;
		-*) misused "unknown option '$1'" ;;
		*)
			[ -z "$number" ] || misused 'expected one number'
			number=$1
			;;
		esac
		shift
	done
	[ -n "$number" ] || misused 'which proposal? expected its number'
	number "$number" 'proposal' 1
	[ -n "$rows" ] || rows=$(newest_rows)
	[ -n "$rows" ] || die 'there are no rows: coldpress advise PATH first'
	[ -r "$rows" ] || die "$rows: cannot be read"
	# one proposal: its chosen candidate, as TSV
	csv 'csv_row() && get("number") == n && get("pick") == 1 {
		print get("place") "\t" get("kind") "\t" get("target") "\t" \
		    get("format") "\t" get("level") "\t" get("block_B") "\t" \
		    get("size_hi_B") "\t" get("now_B") "\t" \
		    get("candidate") "\t" get("hot_min")
	}' n="$number" "$rows" >"$tmp/pick"
	[ -s "$tmp/pick" ] || die "$rows has no proposal $number"
	place=$(cut -f 1 "$tmp/pick") kind=$(cut -f 2 "$tmp/pick")
	target=$(cut -f 3 "$tmp/pick") format=$(cut -f 4 "$tmp/pick")
	level=$(cut -f 5 "$tmp/pick") block=$(cut -f 6 "$tmp/pick")
	most=$(cut -f 7 "$tmp/pick") now=$(cut -f 8 "$tmp/pick")
	candidate=$(cut -f 9 "$tmp/pick") hot=$(cut -f 10 "$tmp/pick")
	# a layer in pieces is layerpack's
	case $target:$block in layers:?*) target=lazy ;; esac
}

# suffix_of FORMAT: prints what pzc appends to a name
suffix_of() {
	case $1 in
	gzip) echo gz ;;
	zstd) echo zst ;;
	bzip2) echo bz2 ;;
	*) echo "$1" ;;
	esac
}

# quoted_word WORD: prints it, quoted for sh
quoted_word() { words_for_sh "$1" | sed 's/ $//'; }

# lazy_extras: prints tar's options that pass over what layerpack adds
lazy_extras() {
	echo --exclude=stargz.index.json --exclude=.no.prefetch.landmark
}

# commands: prints what apply does for the proposal in $place, $target ..., as
# lines for sh
commands() {
	commands_place=$(quoted_word "$place")
	commands_pzc="pzc -F $format${level:+ -$level}"
	commands_out=$(quoted_word "${place%/}.tar.$(suffix_of "$format")")
	case $target:$kind in
	files:gzip)
		echo "for each gzip or bzip2 file under $commands_place:"
		echo "pzc -dc FILE | $commands_pzc >NEW"
		;;
	files:*)
		echo "coldpress advise --list=$kind $commands_place |"
		echo "    xargs -0 $commands_pzc --verify --"
		;;
	layers:layer)
		echo "# in the layout that has these layers; its tags stay"
		echo "skopeo copy --dest-compress-format $format${level:+ \
--dest-compress-level $level} oci:LAYOUT:TAG oci:NEW:TAG"
		;;
	lazy:layer)
		echo "# in the layout that has these layers"
		echo "layerpack --image -F $candidate -L $level LAYOUT:TAG NEW"
		;;
	lazy:*)
		commands_in=$(quoted_word "$(dirname "$place")")
		echo "tar -C $commands_in -c $(quoted_word \
		    "$(basename "$place")") |"
		echo "    layerpack -F $candidate -L $level -o $commands_out -"
		echo "layerpack --verify $commands_out"
		echo "pzc -dc $commands_out | tar -C $commands_in $(lazy_extras) -d"
		;;
	tar:* | layers:*)
		commands_in=$(quoted_word "$(dirname "$place")")
		echo "tar -C $commands_in -c $(quoted_word \
		    "$(basename "$place")") |"
		echo "    $commands_pzc >$commands_out"
		echo "pzc -dc $commands_out | tar -C $commands_in -d"
		;;
	image:image)
		echo "coldpress advise --list=image $commands_place |"
		echo "    xargs -0 -I IMAGE sh -c '"
		echo "sqpack -F $format${level:+ -L $level} -o IMAGE.new IMAGE"
		echo "sqpack --diff IMAGE IMAGE.new    # only in how they are compressed"
		echo "mv IMAGE.new IMAGE'"
		;;
	snap:*)
		echo "sqpack -F $format -b $block --no-fragments -o \
$(quoted_word "${place%/}.snap") $commands_place"
		;;
	image:*)
		echo "sqpack -F $format${level:+ -L $level} -b $block -o \
$(quoted_word "${place%/}.squashfs") $commands_place"
		;;
	zfs:*)
		echo "fsratio --fs zfs -a $format${level:+-$level} \
--recordsize $block $commands_place"
		echo "    # exactly, with metadata; then, for what is written later:"
		echo "zfs set compression=$format${level:+-$level} \
recordsize=$((block / 1024))K DATASET"
		;;
	mail:*)
		echo "# Dovecot 2.3, for mails that are stored later"
		case $format in
		gzip) commands_save=gz ;;
		bzip2) commands_save=bz2 ;;
		*) commands_save=$format ;;
		esac
		echo "mail_plugins = \$mail_plugins zlib"
		echo "plugin {"
		echo "  zlib_save = $commands_save"
		echo "  zlib_save_level = $level"
		echo "}"
		;;
	btrfs:*)
		echo "fsratio --fs btrfs -a $format-$level $commands_place"
		echo "    # exactly; then, on btrfs as root, with the mount option"
		echo "    # compress=$format:$level for what is written later:"
		echo "btrfs filesystem defragment -r -c$format $commands_place"
		;;
	esac
}

# explain ARGUMENT...: the measurement behind a proposal, and what to type
explain() {
	advise_operands "$@"
	run_awk explain n="$number" "$rows"
	echo
	echo "What coldpress apply $number does:"
	commands | sed 's/^/    /'
	echo
	echo "rows: $rows"
}
