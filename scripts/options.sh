# shellcheck shell=sh
# options.sh - parse the command line of a study or a benchmark; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# The sourcing script sets the following variables:
#   option_specs    its options: --remote=remote stores a value in $remote,
#                   --subset:subset sets $subset to yes
#   option_steps    its steps
#   study_places    names of variables for its operands

# misused TEXT: reports a usage error and exits
misused() {
	say "$*"
	printf "Try '%s --help'.\n" "$0" >&2
	exit 2
}

# study_option WORD: sets $option_key and $option_takes (= or :), or exits
study_option() {
	for option_spec in $option_specs; do
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

# option_flag WORD: handles an option without a value that is not in
# $option_specs, or fails; a hook
option_flag() { return 1; }

# study_flag WORD: handles an option without a value; fails if the option
# requires one
study_flag() {
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	-V | --version)
		show_version
		exit 0
		;;
	esac
	! option_flag "$1" || return 0
	study_option "$1"
	[ "$option_takes" = : ] || return 1
	study_set "$option_key" yes
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
	for parse_word in $option_steps; do
		[ "${1:-}" = "$parse_word" ] || continue
		step=$1
		shift
		break
	done
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
