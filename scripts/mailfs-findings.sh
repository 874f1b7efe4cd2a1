# shellcheck shell=sh
# mailfs-findings.sh - test the mail study's findings; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016,SC2034,SC2154

# Findings are tested for one filesystem at a time, using rows for lapcmp that
# contain the efficiency or the seconds in place of the time, with the study's
# labels.

# finding_rows VARIANT COLUMN: prints these rows from a column of
# mailfs-rows.awk, with labels such as gzip-5.w1
finding_rows() {
	echo 'series,label,run,stage,cache,wall_s,exit,signal'
	tsv '
	csv_row() && get("variant") == variant &&
	    get("writers") ~ /2$|^w1$/ && get(column) != "" {
		name = get("algorithm")
		sub(/^zlib/, "gzip", name)
		sub(/^lzo$/, "lzjb", name)
		printf "s,%s.%s,%s,all,unknown,%s,0,\n", name, get("writers"),
		    get("round"), get(column)
	}' variant="$1" column="$2" "$study/runs"
}

# finding_pooled FILE A B FACTOR: prints one pair per round, with the labels
# "many" and "one": the geometric means for A and for B writers over the study's
# algorithms that were measured with both, with "many" multiplied by FACTOR.
# Pairs in the same round are not independent of each other.
finding_pooled() {
	pairs_file=$study/pooled.csv
	{
		echo 'series,label,run,stage,cache,wall_s,exit,signal'
		csv '
		csv_row() {
			split(get("label"), part, /[.]/)
			if (part[1] !~ /^(gzip-[1-9]|lzjb)$/)
				next
			names[part[1]] = rounds[get("run")] = 1
			log_of[part[1], part[2], get("run")] = log(get("wall_s"))
		}
		END {
			for (run in rounds) {
				n = a = b = 0
				for (name in names) {
					if (!((name, many, run) in log_of) ||
					    !((name, one, run) in log_of))
						continue
					n++
					a += log_of[name, many, run]
					b += log_of[name, one, run]
				}
				if (!n)
					continue
				row = run ",all,unknown,"
				printf "s,many,%s%.9g,0,\n", row, exp(a / n) * factor
				printf "s,one,%s%.9g,0,\n", row, exp(b / n)
			}
		}' many="$2" one="$3" factor="$4" "$1"
	} >"$pairs_file"
}

# finding_best VARIANT WRITERS MEDIAN SHARE: tests whether gzip-5 is best, given
# the columns with the median and the share of bootstrap samples; the latter
# determines the verdict
finding_best() {
	cells_of "$1" | verdicts=$study/verdicts tsv '
	csv_row() && get("writers") == writers && get("of_ten") &&
	    get(median) != "" {
		name = get("algorithm")
		sub(/^zlib/, "gzip", name)
		sub(/^lzo$/, "lzjb", name)
		n++
		if (get(median) > most) {
			most = get(median)
			best = name
			best_n = get("n")
		}
		if (name == "gzip-5") {
			found = 1
			five_n = get("n")
			share = get(in_draws)
			# The result cannot be more certain than a sign test
			# with that many rounds.
			least = 2 / 2 ^ get("n")
		}
	}
	END {
		printf "  gzip-5 is the best of the ten, %s\n",
		    writers == "w1" ? "one writer" : "two writers"
		printf "    first in %s of the draws, the best median is that of %s: ",
		    share != "" ? sprintf("%.1f %%", share) : "-",
		    best == "" ? "-" : best
		if (best_n < 6 || five_n < 6)
			share = ""
		if (!found || n < 2)
			print "not measured"
		else if (share == "")
			print "not decided: fewer than 6 rounds"
		else
			print (share >= 95 ? "holds here" : \
			    share <= 5 ? "does not hold here" : "not decided")
		if (share == "")
			exit
		chance = share > 50 ? 1 - share / 100 : share / 100
		if (chance < least)
			chance = least
		verdicts = ENVIRON["verdicts"]
		printf "%s/gzip-5.%s\t%g\n", where, writers, chance >>verdicts
	}' writers="$2" median="$3" in_draws="$4" where="$finding_where"
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
	finding_pooled "$writers_rows" w2 w1 1
	writers_loss=$(ratio many one)
	finding 'two writers have a third of the efficiency (0.28 to 0.40)' \
	    many one '0.28 .. 0.40'
	finding 'and not half' many one 0.5
	pooled_factor=2
	finding_pooled "$writers_rows" w2 w1 2
	finding 'but they write everything twice: each file costs more, too' \
	    many one 1
	pooled_factor=0
	finding_pooled "$writers_rows" s2 w1 1
	finding 'two that share the work lose efficiency' many one 1
	writers_split=$(ratio many one)
	pooled_factor=1
	pairs_file=$writers_rows
	printf '%s\n' "${writers_loss:-$tab$tab}$tab${writers_split:-$tab$tab}" |
	    awk -F '\t' '{
		printf "  loss due to double work (in logarithms): study 63 %%, here "
		if ($1 == "")
			print "not measured"
		else if ($3 == "")
			print "not decided: fewer than 6 rounds"
		else if ($3 >= 1)
			print "not decided: there may be no loss"
		else if ($1 >= 0.5)
			print "all by count: less than half is lost"
		else
			printf "%.0f %% by count\n", 100 * log(2) / log(1 / $1)
		if ($3 == "" || $3 >= 1 || $4 == "")
			exit
		if ($6 == "" || $6 >= 1)
			print "    by two that share the work: not decided"
		else
			printf "    by two that share the work: %.0f %%\n",
			    100 * log($4 / $1) / log(1 / $1)
	}'
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
		cells_of "$1" | tsv 'csv_row() && get("writers") == writers &&
		    get("of_ten") && get("per_both") != "" {
			print get("per_both"), get("algorithm")
		}' writers=$cpu_writers | sort -s -k 1,1gr | awk '
		{ s = s " " $2 }
		END { print "    order:" s }'
	done
	findings_levels w1 'one writer'
	findings_levels w2 'two writers'
	findings_writers
}

# finding_variance VARIANT: tests the difference, with an interval from
# resampled rounds
finding_variance() {
	printf '  with two writers the efficiency varies more (study: by 8.18 points)\n'
	tsv '
	part == "runs" {
		if (csv_row() && get("variant") == variant &&
		    !seen[get("round")]++)
			rounds++
		next
	}
	csv_row() && get("variant") == variant {
		found = 1
		printf "    here by %.2f points", get("spread")
		if (rounds < 6)
			print ": not decided: fewer than 6 rounds"
		else
			printf " [%.2f, %.2f]: %s\n", get("lo"), get("hi"),
			    (get("lo") > 0 ? "holds here" : \
			    get("hi") <= 0 ? "does not hold here" : \
			    "not decided")
	}
	END { if (!found) print "    not measured" }' variant="$1" \
	    part=runs "$study/runs" part=spread "$study/told.spread"
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
