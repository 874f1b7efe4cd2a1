# shellcheck shell=sh
# snap-startup-findings.sh - testing the findings of the study; sourced
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154

# study_ratio ROW REFERENCE: the ratio of medians of the published desktop rows
study_ratio() {
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

# bytes LABEL: the size of the image
bytes() { column image_B "$1"; }

# ratio_of APP IMAGE: the size of the tree divided by that of the image
ratio_of() {
	calc 'printf "%.2f", a / b' a="$(bytes "$1.try.first")" \
	    b="$(bytes "$1.$2.first")"
}

# share APP N: the percentage of its tree's bytes in the N largest files
share() {
	share_dir=$(app_whole "$1" 2>/dev/null) || return 0
	[ -d "$share_dir" ] || return 0
	find "$share_dir" -xdev -type f -printf '%D:%i %s\n' | sort -u |
	    sort -k 2,2rn | awk -v n="$2" '
	    { all += $2; if (NR <= n) most += $2 }
	    END { if (all) printf "%.0f", 100 * most / all }'
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
	for f_app in $apps; do
		f_zstd=$(bytes "$f_app.zstd15.first") f_gzip=$(bytes "$f_app.gzip.first")
		exact "zstd is smaller than gzip ($f_app)" \
		    "$(calc 'print (a < b)' a="$f_zstd" b="$f_gzip")" \
		    "here ${f_zstd:--} and ${f_gzip:--} bytes"
	done
	[ -z "$published_rows" ] || return 0
	f_ten=$(share chromium 10) f_hundred=$(share chromium 100)
	exact 'the ten largest files of chromium have 45 % of it, a hundred 85 % (5 points)' \
	    "$(calc 'print (a >= 40 && a <= 50 && b >= 80 && b <= 90)' \
	    a="$f_ten" b="$f_hundred")" "here ${f_ten:--} and ${f_hundred:--} %"
	f_ten=$(share supertuxkart 10) f_hundred=$(share supertuxkart 100)
	exact 'those of supertuxkart 20 and 50 %' \
	    "$(calc 'print (a >= 15 && a <= 25 && b >= 45 && b <= 55)' \
	    a="$f_ten" b="$f_hundred")" "here ${f_ten:--} and ${f_hundred:--} %"
}

print_findings() {
	findings_begin
	printf '\nWhat the study found (ratios of pairs of runs,\n95 %% intervals; sizes are exact):\n'
	findings_launches
	findings_walks
	findings_sizes
	findings_end
}
