# shellcheck shell=sh
# html.sh - a report as one HTML file, which needs nothing else; sourced
# SPDX-License-Identifier: BSD-2-Clause

# html_text: escapes standard input for HTML
html_text() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'; }
html_word() { printf '%s\n' "$1" | html_text; }

html_head() {
	cat <<EOF_
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>$(html_word "$1")</title>
EOF_
	cat "$here/html-style.html"
	printf '</head>\n<body>\n<main>\n<h1>%s</h1>\n' "$(html_word "$1")"
}

html_tail() {
	printf '<footer>coldpress %s, %s</footer>\n</main>\n' \
	    "$(suite_version)" "$(date -u +%Y-%m-%dT%H:%MZ)"
	cat "$here/html-script.html"
	printf '</body>\n</html>\n'
}

# html_table CAPTION: TSV with a header becomes a table that can be sorted
html_table() {
	html_text | awk -F "$tab" -v caption="$(html_word "$1")" '
	function number(s) { return s ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
	NR == 1 {
		printf "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n", caption
		printf "<table>\n<caption>%s</caption>\n<thead><tr>", caption
		for (i = 1; i <= NF; i++)
			printf "<th scope=\"col\"><button type=\"button\">%s</button></th>", $i
		print "</tr></thead>\n<tbody>"
		next
	}
	{
		printf "<tr>"
		for (i = 1; i <= NF; i++)
			printf "<td%s>%s</td>", number($i) ? " class=\"n\"" : "", $i
		print "</tr>"
	}
	END {
		if (NR)
			print "</tbody>\n</table>\n</div>"
	}'
}

# html_rows FILE: the rows, for download
html_rows() {
	printf '<p><a download="%s" href="data:text/csv;base64,%s">Rows: %s</a> (%s)</p>\n' \
	    "$(html_word "${1##*/}")" "$(base64 -w 0 <"$1")" \
	    "$(html_word "${1##*/}")" "$(($(wc -l <"$1") - 1)) rows"
}

# html_origin ROWS: machine, versions and command line
html_origin() {
	for html_file in "$1.provenance" "$1"; do
		[ -r "$html_file" ] || continue
		sed -n 's/^# //p' "$html_file" >"$tmp/origin"
		[ -s "$tmp/origin" ] || continue
		printf '<details><summary>Machine, versions, command</summary>\n<pre tabindex="0">'
		html_text <"$tmp/origin"
		printf '</pre></details>\n'
		return
	done
}

# html_chart FILE.svg ABOUT: a chart drawn by gnuplot, whose names would clash
# with those of others if it were not an image
html_chart() {
	printf '<figure><img alt="%s" src="data:image/svg+xml;base64,%s"></figure>\n' \
	    "$(html_word "$2")" "$(base64 -w 0 <"$1")"
}

# html_runs ROWS: what lapcmp says about runs, each of which is a point
html_runs() {
	# a study's labels say all about a cell; its keys have measurements, too
	html_keys=
	if is_study "$1" || grep -q 'pull_s=' "$1"; then
		html_keys='-k cache'
	fi
	# shellcheck disable=SC2086
	lapcmp --csv $html_keys "$1" >"$tmp/compared" 2>/dev/null || : >"$tmp/compared"
	csv 'csv_row() {
		if (!n++)
			print "label\tmetric\tgroup\truns\tfailed\tmedian s\tq1 s\tq3 s\tratio\t95 % interval\tverdict"
		print get("label") "\t" get("metric") "\t" get("group") "\t" \
		    get("n") "\t" get("failed") "\t" get("median_s") "\t" \
		    get("q1_s") "\t" get("q3_s") "\t" get("ratio") "\t" \
		    (get("ratio_lo") == "" ? "" : get("ratio_lo") " .. " \
		    get("ratio_hi")) "\t" get("verdict")
	}' "$tmp/compared" >"$tmp/table"
	[ "$report_form" = plot ] ||
	    report_table 'Comparison with the first of each group' <"$tmp/table"
	report_failed "$1" "$html_keys"
	csv 'csv_row() && get("verdict") != "reference" && get("ratio") != "" {
		printf "%s, %s%s: %s; the ratio of medians over pairs is %s", \
		    get("label"), get("metric"), get("group") == "" ? "" : \
		    ", " get("group"), get("verdict"), get("ratio")
		if (get("ratio_lo") != "")
			printf ", and between %s and %s with 95 %% confidence", \
			    get("ratio_lo"), get("ratio_hi")
		print "."
	}' "$tmp/compared" >"$tmp/words"
	if [ -s "$tmp/words" ]; then
		report_sentences 'In words' <"$tmp/words"
	fi
	case $report_form in
	html)
		printf '<h3>Every run</h3>\n<figure class="runs" tabindex="0">\n'
		# shellcheck disable=SC2086
		lapcmp --plot=svg $html_keys "$1" 2>/dev/null |
		    sed '/^<style>$/,/^<\/style>$/d'
		printf '</figure>\n'
		;;
	plot)
		# shellcheck disable=SC2086
		lapcmp --plot $html_keys "$1" 2>/dev/null || :
		;;
	esac
	report_pulls "$1"
}

# html_advice ROWS: the proposals, and size and CPU time of all candidates
html_advice() {
	csv 'csv_row() && !(get("why_not") != "" && get("candidate") != "" && \
	    said[get("place"), get("kind")]++) && (get("pick") == 1 || \
	    get("why_not") != "") {
		if (!n++)
			print "number\twhat\tkind\tfiles\tnow, MB\tcould be, MB\tfrom\tto\tas\ttakes, s\tbound by\twhy not"
		print get("number") "\t" get("place") "\t" get("kind") "\t" \
		    get("files") "\t" sprintf("%.3f", get("now_B") / 1e6) "\t" \
		    (get("pick") == 1 ? sprintf("%.3f\t%.3f\t%.3f", \
		    get("size_B") / 1e6, get("size_lo_B") / 1e6, \
		    get("size_hi_B") / 1e6) : "\t\t") "\t" \
		    (get("pick") == 1 ? get("target") " " get("candidate") : "") \
		    "\t" (get("pick") == 1 ? get("write_s") : "") "\t" \
		    (get("pick") == 1 ? get("bound") : "") "\t" get("why_not")
	}' "$1" | report_table 'What would pay, and what would not'
	csv 'csv_row() && get("pick") == 1 && get("number") != "" {
		if (!n++)
			print "what\tMB\tshown"
		for (i = 0; i < 2; i++) {
			v = get(i ? "size_B" : "now_B") / 1e6
			printf "%s %s\t%s\t%.2f MB\n", get("number"), \
			    i ? "as " get("candidate") : "now", v, v
		}
	}' "$1" | report_bars 'Sizes now, and as proposed'
	csv 'csv_row() && get("number") != "" { print get("number") }' "$1" |
	    sort -nu >"$tmp/numbers"
	while read -r html_number; do
		run_awk explain n="$html_number" "$1" >"$tmp/explained"
		if [ "$report_form" != html ]; then
			report_text <"$tmp/explained"
			continue
		fi
		printf '<h3>Proposal %s</h3>\n<figure class="front" tabindex="0">\n' \
		    "$html_number"
		run_awk html-front n="$html_number" "$1"
		printf '</figure>\n<pre tabindex="0">'
		html_text <"$tmp/explained"
		printf '</pre>\n'
	done <"$tmp/numbers"
}

# html_study DIR|ROWS: the study's own report, its charts, and its rows
html_study() {
	html_csv=${1%/}
	html_csv=${html_csv%.d}
	study_report "$1" >"$tmp/study" 2>&1 || :
	if [ "$report_form" = html ]; then
		printf '<pre tabindex="0">'
		html_text <"$tmp/study"
		printf '</pre>\n'
	else
		report_text <"$tmp/study"
	fi
	[ "$report_form" != html ] || for html_svg in "${html_csv%.csv}"-*.svg; do
		[ ! -s "$html_svg" ] || html_chart "$html_svg" \
		    "Chart ${html_svg##*/} of the study's rows"
	done
	[ ! -e "$html_csv" ] || html_file "$html_csv"
}

# html_file ROWS: what the columns allow to say
html_file() {
	[ "$report_form" != html ] || html_origin "$1"
	html_columns=$(grep -v '^#' "$1" | head -n 1)
	case ,$html_columns, in
	",1$tab"*)
		# what touchlog lists has no header
		awk -F "$tab" -f "$here/report-launch.awk" "$1" >"$tmp/launch"
		report_table 'Files that a launch opens, in order, and bytes' \
		    <"$tmp/launch"
		report_steps "$tmp/launch" 'MB' \
		    'Bytes of the files that a launch opens, in their order'
		;;
	*,candidate,*) html_advice "$1" ;;
	*,wall_s,*)
		need lapcmp
		html_runs "$1"
		;;
	*)
		# shellcheck disable=SC2016
		csv 'csv_row() || csv_head == $0 {
			s = $1
			for (i = 2; i <= NF; i++)
				s = s "\t" $i
			gsub(SUBSEP, ",", s)
			print s
		}' "$1" | head -n 2001 | report_table "${1##*/}"
		;;
	esac
	[ "$report_form" != html ] || html_rows "$1"
}

# html_one OPERAND: a study, or rows
html_one() {
	if is_study "$1"; then html_study "$1"; else html_file "$1"; fi
}

# html_report OUT OPERAND...: writes the file, complete or not at all
html_report() {
	html_out=$1
	shift
	report_operands "$@"
	{
		html_head 'coldpress report'
		for html_operand; do
			printf '<section>\n<h2>%s</h2>\n' \
			    "$(html_word "${html_operand##*/}")"
			html_one "$html_operand"
			printf '</section>\n'
		done
		html_tail
	} >"$tmp/report.html"
	html_part=$(mktemp "$(dirname "$html_out")/.coldpress.XXXXXX")
	cat "$tmp/report.html" >"$html_part"
	chmod 644 "$html_part"
	mv -f -T "$html_part" "$html_out" || {
		rm -f "$html_part"
		die "$html_out: could not be written"
	}
	say "$html_out"
}
