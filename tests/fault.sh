# shellcheck shell=sh
# fault.sh - runs a command repeatedly, with each of its calls failing once;
# sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause

# calls KIND: prints how many calls of that kind the last run made
calls() { sed -n "s/^$1 //p" n; }

# each NAME TARGET KIND:ERROR COMMAND...: makes each of the calls fail in turn;
# with status 0, TARGET must equal want.TARGET; with status 1, there must be a
# message, and the function "leaves TARGET" of the test must accept the
# remaining files
each() {
	e_name=$1 e_target=$2 e_kind=${3%:*} e_error=${3#*:}
	shift 3
	e_bad='' e_k=0
	while :; do
		e_k=$((e_k + 1))
		rm -f "$e_target"
		e_status=0
		COLDPRESS_FAULT=$e_kind:$e_k:$e_error \
		    COLDPRESS_FAULT_COUNT=n "$@" >.t.out 2>.t.err ||
		    e_status=$?
		[ "$(calls "$e_kind")" -ge "$e_k" ] || break
		case $e_status in
		0)	[ -e "$e_target" ] && cmp -s "$e_target" \
			    "want.$e_target" || e_bad="$e_bad $e_k" ;;
		1)	leaves "$e_target" && [ -s .t.err ] ||
			    e_bad="$e_bad $e_k" ;;
		*)	e_bad="$e_bad $e_k($e_status)" ;;
		esac
	done
	is "$e_name: $e_kind, $e_error" "$e_bad" ''
}
