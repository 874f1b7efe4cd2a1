# shellcheck shell=sh
# options.sh - parse the command line of a study; sourced by study.sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154

usage_common() {
	cat <<EOF
  -n RUNS          runs of each row ($runs; fewer than 6 give no interval)
  -o ROWS.csv      the rows ($rows_csv); ROWS.csv.d keeps what a
                   stopped study needs to go on
  -S SEED          order of the rows in each round ($seed)
  --budget SECONDS  start no more runs after this time; report on those made
  --cold, --warm   drop the caches before each run (needs root), or read the
                   input once
  -q, -v           no progress; a line of progress for each run
EOF
}

# misused TEXT: reports a usage error and exits
misused() {
	say "$*"
	printf "Try '%s --help'.\n" "$0" >&2
	exit 2
}

# study_option WORD: sets $option_key and $option_takes (= or :), or exits
study_option() {
	for option_spec in -n=runs -o=rows_csv -S=seed --rows=rows \
	    --engine=engine --budget=budget --quick:quick $study_options; do
		[ "${option_spec%%[=:]*}" = "$1" ] || continue
		option_key=${option_spec#*[=:]}
		option_takes=${option_spec#"$1"}
		option_takes=${option_takes%"$option_key"}
		return 0
	done
	misused "unknown option '$1'"
}

# study_set NAME VALUE: sets a variable to a value from the command line
study_set() {
	case $2 in
	*"$tab"* | *'
'*) die "$1 has a tab or a newline, which is not supported" ;;
	esac
	eval "$1=\$2"
	study_asked="$study_asked $1"
}

# study_flag WORD: handles an option without a value; fails if the option
# requires one
study_flag() {
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	-q) verbosity=0 ;;
	-v) verbosity=2 ;;
	--warm) study_set cold '' ;;
	--cold)
		[ "$(id -u)" = 0 ] || cannot 'only root can drop the caches'
		study_set cold yes
		;;
	*)
		study_option "$1"
		[ "$option_takes" = : ] || return 1
		study_set "$option_key" yes
		;;
	esac
}

# option_more NAME VALUE: whether the option takes a second word; a hook
option_more() { return 1; }

# study_parse WORD...: parses options in any position, then $step and operands
study_parse() {
	parse_left=$#
	while [ "$parse_left" -gt 0 ]; do
		parse_word=$1
		parse_left=$((parse_left - 1))
		shift
		case $parse_word in
		--) break ;;
		--*=*)
			study_option "${parse_word%%=*}"
			[ "$option_takes" = = ] ||
			    misused "${parse_word%%=*} takes no value"
			study_set "$option_key" "${parse_word#*=}"
			;;
		-?*)
			! study_flag "$parse_word" || continue
			[ "$parse_left" -gt 0 ] ||
			    misused "$parse_word needs a value"
			parse_value=$1
			parse_left=$((parse_left - 1))
			shift
			if [ "$parse_left" -gt 0 ] &&
			    option_more "$option_key" "$parse_value"; then
				parse_value="$parse_value $1"
				parse_left=$((parse_left - 1))
				shift
			fi
			study_set "$option_key" "$parse_value"
			;;
		*) set -- "$@" "$parse_word" ;;
		esac
	done
	# After --, the remaining words precede the operands found so far.
	while [ "$parse_left" -gt 0 ]; do
		set -- "$@" "$1"
		parse_left=$((parse_left - 1))
		shift
	done
	step=
	case ${1:-} in
	prepare | run | report | cell | call)
		step=$1
		shift
		;;
	esac
	study_words=$(words_for_sh "$@")
}

# study_operands WORD...: accepts no operands, or one for each of $study_places
study_operands() {
	[ $# -gt 0 ] || return 0
	for operand_name in $study_places; do
		[ $# -gt 0 ] || misused "an operand is missing: $operand_name"
		study_set "$operand_name" "$(absolute "$1")"
		shift
	done
	[ $# = 0 ] || misused "one operand too many: '$1'"
}
