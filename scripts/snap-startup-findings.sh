# shellcheck shell=sh
# snap-startup-findings.sh - test the study's findings; sourced
# SPDX-License-Identifier: BSD-2-Clause

# study_ratio ROW REFERENCE: prints the ratio of medians of the published
# rows: those reported on or, for a study of our own, those of the desktop
study_ratio() {
	[ -z "$published_rows" ] || {
		calc 'printf "%.2f", a / b' a="$(column wall_s "$1")" \
		    b="$(column wall_s "$2")"
		return 0
	}
	awk -v a="$1" -v b="$2" '
	{ ms[$1] = $2 }
	END { if (ms[a] && ms[b]) printf "%.2f", ms[a] / ms[b] }' <<EOF
chromium.try.first 1959
chromium.none.first 2290
chromium.gzip.first 2857
chromium.lzo.first 2256
chromium.zstd15.first 2392
chromium.xz.first 5800
chromium.try.second 1729
chromium.none.second 2150
chromium.gzip.second 2690
chromium.lzo.second 2083
chromium.zstd15.second 2216
chromium.xz.second 1549
chromium.gzip.walk.app.mount 5368
chromium.zstd15.walk.app.mount 4073
chromium.xz.walk.app.mount 13984
supertuxkart.zstd15.first 2397
supertuxkart.xz.first 3260
supertuxkart.gzip.walk.app.mount 7634
supertuxkart.xz.walk.app.mount 18786
calculator.zstd15.first 3455
calculator.xz.first 3526
EOF
}

# bytes LABEL: prints the size of the image
bytes() { column image_B "$1"; }

# ratio_of APP IMAGE: prints the size of the tree divided by that of the image
ratio_of() {
	calc 'printf "%.2f", a / b' a="$(bytes "$1.try.first")" \
	    b="$(bytes "$1.$2.first")"
}

findings_launches() {
	for f_app in $apps; do
		for f_image in try none gzip lzo lz4 zstd15 xz; do
			finding "the second launch is faster ($f_app, $f_image)" \
			    "$f_app.$f_image.second" "$f_app.$f_image.first" 1
		done
	done
	finding 'for a small program compression makes no difference (10 %)' \
	    calculator.xz.first calculator.zstd15.first '0.9 .. 1.1'
	finding 'for chromium xz takes twice the time of zstd' \
	    chromium.xz.first chromium.zstd15.first '> 2'
	finding 'zstd is faster than gzip' chromium.zstd15.first \
	    chromium.gzip.first 1
	finding 'chromium takes almost twice the time of supertuxkart (xz)' \
	    chromium.xz.first supertuxkart.xz.first '1.5 .. 2.5'
}

findings_walks() {
	for f_app in $apps; do
		finding "a walk takes longer than a launch ($f_app, zstd)" \
		    "$f_app.zstd15.walk.app.mount" "$f_app.zstd15.first" '> 1'
		finding "xz is slowest in walks, by more than double ($f_app)" \
		    "$f_app.xz.walk.app.mount" \
		    "$f_app.gzip.walk.app.mount" '> 2'
	done
}

findings_sizes() {
	chromium_xz=$(bytes chromium.xz.first)
	kart_xz=$(bytes supertuxkart.xz.first)
	exact 'the image of chromium is smaller than that of supertuxkart (xz)' \
	    "$(calc 'print (a < b)' a="$chromium_xz" b="$kart_xz")" \
	    "here ${chromium_xz:--} and ${kart_xz:--} bytes"
	chromium_ratio=$(ratio_of chromium xz) kart_ratio=$(ratio_of supertuxkart xz)
	exact 'the ratio of chromium is about 3.75 (xz, 10 %)' \
	    "$(calc 'print (a >= 3.375 && a <= 4.125)' a="$chromium_ratio")" \
	    "here ${chromium_ratio:--}"
	exact 'that of supertuxkart about 1.34 (10 %)' \
	    "$(calc 'print (a >= 1.206 && a <= 1.474)' a="$kart_ratio")" \
	    "here ${kart_ratio:--}"
	kart_least=$(bytes supertuxkart.xz.first)
	kart_most=$(bytes supertuxkart.lzo.first)
	exact 'the images of supertuxkart differ little in size (lzo, xz; 10 %)' \
	    "$(calc 'print (a <= 1.1 * b)' a="$kart_most" b="$kart_least")" \
	    "here ${kart_most:--} and ${kart_least:--} bytes"
	for f_app in $apps; do
		f_zstd=$(bytes "$f_app.zstd15.first") f_gzip=$(bytes "$f_app.gzip.first")
		exact "zstd is smaller than gzip ($f_app)" \
		    "$(calc 'print (a < b)' a="$f_zstd" b="$f_gzip")" \
		    "here ${f_zstd:--} and ${f_gzip:--} bytes"
	done
	f_ten=$(share chromium 10) f_hundred=$(share chromium 100)
	exact 'the ten largest files of chromium contain 45 % of it, a hundred 85 % (5 points)' \
	    "$(calc 'print (a >= 40 && a <= 50 && b >= 80 && b <= 90)' \
	    a="$f_ten" b="$f_hundred")" \
	    "here ${f_ten:--} and ${f_hundred:--} %$(files_lack chromium)"
	f_ten=$(share supertuxkart 10) f_hundred=$(share supertuxkart 100)
	exact 'those of supertuxkart 20 and 50 %' \
	    "$(calc 'print (a >= 15 && a <= 25 && b >= 45 && b <= 55)' \
	    a="$f_ten" b="$f_hundred")" \
	    "here ${f_ten:--} and ${f_hundred:--} %$(files_lack supertuxkart)"
}

# finding_by NAME TEXT ROW REFERENCE LIMIT: tests a finding with these pairs, if
# there are any
finding_by() {
	[ -n "$(column n "$3")" ] && [ -n "$(column n "$4")" ] || return 0
	by_pairs=$pairs_file by_where=$finding_where
	pairs_file=$study/pairs-$1.csv finding_where=$1
	finding "$2" "$3" "$4" "$5"
	pairs_file=$by_pairs finding_where=$by_where
}

# findings_order APP: tests that less is read from the device if files are
# stored in launch order
findings_order() {
	for f_image in none lz4 lzo gzip zstd15 xz; do
		finding_by disk "files in the order of a launch: at least 15 % less is read ($1)" \
		    "$1.$f_image.sorted.first" "$1.$f_image.sqpack.first" 0.85
		for f_by in wall cpu; do
			finding_by $f_by "and the launch takes no longer, by $f_by (5 %; $1)" \
			    "$1.$f_image.sorted.first" \
			    "$1.$f_image.sqpack.first" 1.05
		done
	done
}

# findings_warm APP: tests that pre-warming is cheap and sufficient
findings_warm() {
	f_warm=$1.zstd15.prewarm
	finding_by cpu "reading what a launch needs takes half the CPU time of reading all ($1)" \
	    "$f_warm.touched" "$f_warm.all" 0.5
	finding_by bytes "and 80 % of the bytes ($1)" "$f_warm.touched" \
	    "$f_warm.all" 0.8
	finding_by bytes "the launch after it requests less than 1 % of what a cold one does ($1)" \
	    "$f_warm.after-touched" "$1.zstd15.first" 0.01
	finding_by cpu "and takes at most 1.2 times the CPU time of a warm one ($1)" \
	    "$f_warm.after-touched" "$1.zstd15.second" 1.2
}

findings_ours() {
	pairs_by wall wall_s
	pairs_by bytes loop_B
	pairs_by disk disk_B
	ours=$(for f_app in $apps; do
		findings_order "$f_app"
		findings_warm "$f_app"
	done)
	[ -z "$ours" ] || printf '\nWhat can be saved (by CPU time, bytes requested from the image, or bytes read\nfrom the device; by wall clock where stated):\n%s\n' "$ours"
}

print_findings() {
	findings_begin
	printf '\nWhat the study found (paired ratios of runs,\n95 %% confidence intervals; sizes are exact):\n'
	findings_launches
	findings_walks
	findings_sizes
	[ -n "$published_rows" ] || findings_ours
	findings_end
}
