# shellcheck shell=sh
# lib.sh - functions shared by the shell tests: TAP, one line per check
# SPDX-License-Identifier: BSD-2-Clause
#
# t NAME STATUS COMMAND...   the command exits with STATUS
# is NAME A B                the two words are equal
# same NAME A B              the two files are equal
# shows NAME PATTERN [FILE]  the last command's output has a matching line
# await COMMAND...           waits for it to succeed, for 300 s at most
# skip REASON                one property cannot be tested here
# skip_all REASON            nothing here can be tested: exit 77
# The command's output is shown only if it failed.  With COLDPRESS_TEST_STOP a
# test ends at its first failure.

count=0
failed=0

ok() {
	count=$((count + 1))
	echo "ok $count - $1"
}

not_ok() {
	count=$((count + 1))
	failed=$((failed + 1))
	echo "not ok $count - $1"
	[ -z "${COLDPRESS_TEST_STOP:-}" ] || exit 1
}

t() {
	t_name=$1 t_want=$2
	shift 2
	t_got=0
	"$@" >.t.out 2>.t.err || t_got=$?
	if [ "$t_got" = "$t_want" ]; then
		ok "$t_name"
	else
		not_ok "$t_name"
		echo "# status $t_got, not $t_want: $*"
		head -c 2000 .t.out | sed 's/^/# out: /'
		head -c 2000 .t.err | sed 's/^/# err: /'
	fi
}

is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1"
		printf '# got:  %s\n# want: %s\n' "$2" "$3"
	fi
}

same() {
	if cmp -s "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1"
		echo "# $2 and $3 differ"
		diff "$2" "$3" 2>&1 | head -n 6 | cut -c 1-200 | sed 's/^/# /'
	fi
}

shows() {
	if grep -q -e "$2" "${3-.t.out}"; then
		ok "$1"
	else
		not_ok "$1"
		sed 's/^/# /' "${3-.t.out}"
	fi
}

# col FILE COLUMN [STAGE]: prints a column of lap's rows, by default those of
# whole runs; '' means every stage; no value may contain a comma
col() {
	awk -F, -v name="$2" -v stage="${3-all}" '
	/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	stage == "" || $at["stage"] == stage { print $at[name] }' "$1" |
	    tr '\n' ' ' | sed 's/ $//'
}

# told COMMAND...: writes the command's standard error to err
told() { "$@" 2>err; }

# to FILE COMMAND...: writes the command's standard output to FILE
to() {
	to_file=$1
	shift
	"$@" >"$to_file"
}

await() {
	await_end=$(($(date +%s) + 300))
	until "$@"; do
		[ "$(date +%s)" -lt $await_end ] || {
			echo "# not within 300 s: $*"
			return 1
		}
		sleep 0.1
	done
}

# gone PID: whether the process has ended, or is a zombie
gone() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | Z* | X*) ;;
	*) return 1 ;;
	esac
}

have() { command -v "$1" >/dev/null 2>&1; }

# sanitized TOOL: whether it was built with a sanitizer, which uses additional
# memory
sanitized() { grep -aEq '__[at]san_init' "$(command -v "$1")"; }

skip() {
	count=$((count + 1))
	echo "ok $count # SKIP $*"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 77
}

done_testing() {
	echo "1..$count"
	[ "$failed" = 0 ]
}
