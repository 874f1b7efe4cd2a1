# shellcheck shell=sh
# mailfs-findings.sh - test the mail study's findings; sourced
# SPDX-License-Identifier: BSD-2-Clause

# Findings are tested for one filesystem at a time, using rows for lapcmp that
# contain the efficiency or the seconds in place of the time, with the study's
# labels.

# finding_rows VARIANT COLUMN: prints these rows from a column of
# mailfs-rows.awk, with labels such as gzip-5.w1
finding_rows() {
	echo "$pairs_head"
	tabulate "
	where variant == wanted && place(writers, \"w1 w2 s2\") && $2 != \"\"
	line \"s,\" name \".\" writers \",\" round \",all,unknown,\" $2 \",0,\"" \
	    wanted="$1" "$study/runs"
}

# finding_pooled FILE A FACTOR: writes pairs of A writers ("many") and one, over
# the study's algorithms
finding_pooled() {
	pairs_file=$study/pooled.csv pooled_factor=$3
	tabulate '
	where label ~ /^(gzip-[1-9]|lzjb)[.]/
	let writers = cut(label, ".*[.]")
	where place(writers, two " w1")
	line "s", run, cut(label, "[.].*"), writers == two ? "many" : "one", wall_s' \
	    FS=, two="$2" "$1" | pooled many one "$3" >"$pairs_file"
}

# finding_best VARIANT WRITERS MEDIAN SHARE: tests whether gzip-5 is best, given
# the columns with the median and the share of bootstrap samples
finding_best() {
	verdicts=$study/verdicts run_awk mailfs-words -F '\t' what=best \
	    variant="$1" writers="$2" column="$3" in_draws="$4" \
	    where="$finding_where" "$study/told.cell"
}

# findings_levels WRITERS TEXT: tests levels relative to gzip-5, by $measure:
# clock or cpu
findings_levels() {
	for n in 4 3 8; do
		finding "gzip-$n comes close, $2 (within 10 %)" \
		    "gzip-$n.$1" "gzip-5.$1" '0.9 .. 1.1'
	done
	for n in 2 9; do
		finding "gzip-$n is much worse, $2 (by 10 % and more)" \
		    "gzip-$n.$1" "gzip-5.$1" 0.9
	done
	finding_of=seconds pairs_file=$study/$measure.seconds.csv
	finding "lzjb is fast: faster than gzip-5, $2" "lzjb.$1" "gzip-5.$1" 1
	finding_of=efficiency pairs_file=$study/$measure.efficiency.csv
	finding "but its ratio loses more than that: less efficient, $2" \
	    "lzjb.$1" "gzip-5.$1" 1
}

# findings_writers: tests all algorithms of the study together
findings_writers() {
	writers_rows=$study/$measure.efficiency.csv
	finding_pooled "$writers_rows" w2 1
	writers_loss=$(ratio many one)
	finding 'two writers have a third of the efficiency (0.28 to 0.40)' \
	    many one '0.28 .. 0.40'
	finding 'and not half' many one 0.5
	finding_pooled "$writers_rows" w2 2
	finding 'but they write everything twice: each file costs more, too' \
	    many one 1
	finding_pooled "$writers_rows" s2 1
	# The study did not measure this.
	pooled_factor=0
	finding 'two that share the work lose efficiency' many one 1
	writers_split=$(ratio many one)
	pooled_factor=1
	pairs_file=$writers_rows
	run_awk mailfs-words what=loss double="$writers_loss" \
	    shared="$writers_split" /dev/null
}

# findings_measure MEASURE VARIANT EFFICIENCY SECONDS: tests findings with the
# two named columns
findings_measure() {
	measure=$1 finding_where=$2-$1
	finding_rows "$2" "$3" >"$study/$1.efficiency.csv"
	finding_rows "$2" "$4" >"$study/$1.seconds.csv"
	finding_of=efficiency pairs_file=$study/$1.efficiency.csv
	pooled_factor=1
}

# findings_cpu VARIANT: tests the same with processor time, which depends less
# on other load, if the filesystem is a process whose time is known
findings_cpu() {
	findings_measure cpu "$1" per_both both_s
	[ "$(wc -l <"$study/cpu.efficiency.csv")" -gt 1 ] || return 0
	printf '\n'
	wrap <<EOF
The same on $1 by processor time, of the copy and the daemon until the data is durable:
EOF
	for cpu_writers in w1 w2; do
		finding_best "$1" $cpu_writers per_both cpu_ten_pct
		printf '    order:%s\n' "$(tabulate '
		where variant == wanted && writers == of && of_ten > 0
		where per_both != ""
		order -per_both
		line " " algorithm' wanted="$1" of=$cpu_writers \
		    "$study/told.cell" | tr -d '\n')"
	done
	findings_levels w1 'one writer'
	findings_levels w2 'two writers'
	findings_writers
}

# finding_variance VARIANT: tests the difference, with an interval from
# resampled rounds
finding_variance() {
	printf '  with two writers the efficiency varies more (study: by 8.18 points)\n'
	run_awk mailfs-words -F '\t' what=spread variant="$1" "$study/runs" \
	    "$study/told.spread"
}

# print_findings VARIANT
print_findings() {
	printf '\n'
	wrap <<EOF
What the study found, on $1$(stand_in "$1" | sed 's/^/, where /') (efficiency unless stated otherwise; median paired ratios, 95 % confidence intervals):
EOF
	findings_measure clock "$1" efficiency copy_s
	finding_best "$1" w1 eff ten_pct
	finding_best "$1" w2 eff ten_pct
	findings_levels w1 'one writer'
	findings_levels w2 'two writers'
	findings_writers
	finding_variance "$1"
}
