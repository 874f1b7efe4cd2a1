# mailfs-words.awk - put what the mail study found into words
# SPDX-License-Identifier: BSD-2-Clause
#
# awk -F '\t' -f csv.awk -f stats.awk -f mailfs-words.awk what=WHAT ... FILE...:
#   order   variant=: whether the position in a block affects the time; reads
#           told.order
#   spread  variant=: whether two writers vary more; reads runs and told.spread
#   best    variant= writers= column= in_draws= where=: whether gzip-5 is the
#           best, given the columns with the median and with the share of draws;
#           the latter determines the verdict, which is appended to the file
#           given by verdicts in the environment; reads told.cell
#   loss    double= shared=: how much of the loss is due to double work, given
#           the ratios of two writers to one, with intervals, as TSV
#   choice  variant=: the study's choice with one writer; reads told.cell

function order() {
	printf "%s: the last copy of a block took ", variant
	if (get("drift") == "")
		printf "- of the first"
	else {
		printf "%.3f of the first", get("drift")
		if (get("lo") != "")
			printf " (%.3f .. %.3f)%s", get("lo"), get("hi"),
			    (get("lo") > 1 || get("hi") < 1 ? \
			    ": the machine drifted" : "")
	}
	if (get("slope") != "")
		printf "; by place %+.2f %% a cell", 100 * get("slope")
	if (get("slope") != "" && get("rounds") >= 6)
		printf " (+-%.2f)%s", 196 * get("error"),
		    (get("slope") > 1.96 * get("error") ||
		    get("slope") < -1.96 * get("error") ? \
		    ": order matters" : "")
	print "."
}

function spread(  verdict) {
	if ("spread" in at) {
		found = 1
		printf "    here by %.2f points", get("spread")
		verdict = "not decided"
		if (get("lo") > 0)
			verdict = "holds here"
		else if (get("hi") <= 0)
			verdict = "does not hold here"
		if (rounds < 6)
			print ": not decided: fewer than 6 rounds"
		else
			printf " [%.2f, %.2f]: %s\n", get("lo"), get("hi"),
			    verdict
	} else if (!seen[get("round")]++)
		rounds++
}

# best: notes the cell with the highest median, and that of gzip-5
function best() {
	n++
	if (get(column) > most) {
		most = get(column)
		first = get("name")
		first_n = get("n")
	}
	if (get("name") == "gzip-5") {
		found = 1
		five_n = get("n")
		share = get(in_draws)
	}
}

function print_best(  chance, least) {
	printf "  gzip-5 is the best of the ten, %s\n",
	    writers == "w1" ? "one writer" : "two writers"
	printf "    first in %s of the draws, the best median is that of %s: ",
	    share != "" ? sprintf("%.1f %%", share) : "-",
	    first == "" ? "-" : first
	if (first_n < 6 || five_n < 6)
		share = ""
	if (!found || n < 2)
		print "not measured"
	else if (share == "")
		print "not decided: fewer than 6 rounds"
	else if (share >= 95)
		print "holds here"
	else
		print share <= 5 ? "does not hold here" : "not decided"
	if (share == "")
		return
	chance = share > 50 ? 1 - share / 100 : share / 100
	# The result cannot be more certain than a sign test with that many
	# rounds.
	least = 2 / 2 ^ five_n
	printf "%s/gzip-5.%s\t%g\n", where, writers, \
	    chance < least ? least : chance >>ENVIRON["verdicts"]
}

function print_loss(  d, s) {
	split(double, d, "\t")
	split(shared, s, "\t")
	printf "  loss due to double work (in logarithms): study 63 %%, here "
	if (d[1] == "")
		print "not measured"
	else if (d[3] == "")
		print "not decided: fewer than 6 rounds"
	else if (d[3] >= 1)
		print "not decided: there may be no loss"
	else if (d[1] >= 0.5)
		print "all by count: less than half is lost"
	else
		printf "%.0f %% by count\n", 100 * log(2) / log(1 / d[1])
	if (d[3] == "" || d[3] >= 1 || s[1] == "")
		return
	if (s[3] == "" || s[3] >= 1)
		print "    by two that share the work: not decided"
	else
		printf "    by two that share the work: %.0f %%\n",
		    100 * log(s[1] / d[1]) / log(1 / d[1])
}

# choice: notes the cell with the highest efficiency, and that of gzip-5
function choice() {
	if (get("name") == "gzip-5") {
		five = get("algorithm")
		five_n = get("n")
		eff = get("eff")
		sizes = sprintf("the ratio is printed as %.2f, but is really %.2f with sectors and metadata",
		    get("ratio"), get("apparent_B") / get("all_B"))
		seconds = get("copy_s")
	}
	if (get("eff") > most) {
		most = get("eff")
		first = get("algorithm")
		first_n = get("n")
		share = get("ten_pct")
	}
}

function print_choice() {
	if (five == "")
		return
	printf "On %s with one writer, %s copied in %.2f s (the median of n = %d); %s. ",
	    variant, five, seconds, five_n, sizes
	if (first == five)
		printf "No algorithm in the study had a higher median efficiency"
	else
		printf "The highest median efficiency was that of %s, %.2f times as high",
		    first, most / eff
	if (five_n < 6 || first_n < 6)
		printf " (not decided: fewer than 6 runs). "
	else
		printf "; it comes first in %.0f %% of the draws. ", share
}

!csv_row() || get("variant") != variant { next }
what == "order" { order() }
what == "spread" { spread() }
what == "best" && get("writers") == writers && get("of_ten") &&
    get(column) != "" { best() }
what == "choice" && get("writers") == "w1" && get("of_ten") { choice() }
END {
	if (what == "best")
		print_best()
	else if (what == "loss")
		print_loss()
	else if (what == "choice")
		print_choice()
	else if (what == "spread" && !found)
		print "    not measured"
}
