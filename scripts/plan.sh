# shellcheck shell=sh
# plan.sh - the decisions recorded with a study's or a benchmark's rows; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# $study/plan has a line for each variable that plan_keys prints; the sourcing
# script defines that function, and sets $study_may_change.

plan_save() {
	for plan_key in $(plan_keys); do
		eval "plan_value=\$$plan_key"
		printf '%s\t%s\n' "$plan_key" "$plan_value"
	done >"$study/plan.new"
	mv "$study/plan.new" "$study/plan"
}

plan_load() {
	[ -e "$study/plan" ] || die "$study: nothing has been prepared"
	for plan_key in $(plan_keys); do
		plan_value=$(sed -n "s/^$plan_key$tab//p" "$study/plan")
		eval "$plan_key=\$plan_value"
	done
	case $series in
	'' | *-"$study_name") ;;
	*) die "$study contains another study, ${series#*Z-*-}: choose another -o" ;;
	esac
}

plan_may_change() {
	case " runs rows $study_may_change " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# plan_take: reads the plan, which the current options must not contradict.  In
# prepare some values may change; the number of runs may only be raised.
plan_take() {
	for take_key in $study_asked; do
		eval "asked_$take_key=\$$take_key"
	done
	plan_load
	for take_key in $study_asked; do
		grep -q "^$take_key$tab" "$study/plan" || continue
		eval "take_was=\$$take_key take_now=\$asked_$take_key"
		[ "$take_was" != "$take_now" ] || continue
		plan_may_change "$take_key" ||
		    die "$study was started with a different $take_key ('$take_was', not '$take_now'): choose another -o, or remove it"
		[ "$take_key" != runs ] || [ "$take_now" -gt "$take_was" ] ||
		    die "$study was started with $take_was runs of each row, not $take_now: the number can only be raised"
		[ "$step" = prepare ] ||
		    die "$study was prepared with a different $take_key ('$take_was', not '$take_now'): prepare it again"
		eval "$take_key=\$take_now"
	done
}
