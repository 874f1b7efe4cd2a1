# shellcheck shell=sh
# image-export-sizes.sh - test the study's findings about sizes; sourced
# SPDX-License-Identifier: BSD-2-Clause

# Sizes do not depend on the number of threads.
findings_size() {
	size_lz4=$(size "lz4.p$first") size_none=$(size "none.p$first")
	size_hc=$(size "lz4hc.p$first") size_1=$(size "zstd1.p$first")
	size_no=$(size "none.nodup.p$first")
	exact 'none is smaller than its content, but only by duplicates (95 %)' \
	    "$(calc 'print (a < 100 && (b - a) >= 0.95 * (100 - a))' \
	    a="$size_none" b="$size_no")" \
	    "study 99.7 %, here ${size_none:--} %; without removing duplicates ${size_no:--} %"
	exact 'zstd 1 is by far the smallest (5 % less than lz4hc and lz4)' \
	    "$(calc 'print (a < 0.95 * b && a < 0.95 * c)' \
	    a="$size_1" b="$size_hc" c="$size_lz4")" \
	    "study 55.4 of 60.4 and 68.5 %, here ${size_1:--} of ${size_hc:--} and ${size_lz4:--} %"
}

# finding_sweet THREADS: tests that level 2 has the best trade-off between size
# and time among levels 1 to 9: it is the knee, the point farthest from the line
# between the first level and the last
finding_sweet() {
	exact_text="level 2 is the sweet spot ($1 threads, by medians: the knee of size against log time)"
	sweet=$(exports "^zstd[1-9][.]p$1\$" \
	    'line level, wall_s, image_B / plain_B, n' |
	    run_awk image-export-words -F '\t' what=knee -)
	sweet_knee=$(field 1 "$sweet") sweet_last=$(field 2 "$sweet")
	if [ -z "$sweet" ]; then
		exact "$exact_text" '' 'level 1 and three more of 2 to 9 are needed'
		return 0
	fi
	sweet_detail="the knee of levels 1 to $sweet_last is level $sweet_knee"
	[ "$sweet_knee" != 0 ] ||
	    sweet_detail="levels 1 to $sweet_last have no knee"
	sweet_is=0
	[ "$sweet_knee" != 2 ] || sweet_is=1
	[ "$(field 3 "$sweet")" -ge 6 ] ||
	    sweet_is='not decided: fewer than 6 runs of some level'
	exact "$exact_text" "$sweet_is" "$sweet_detail"
}

# findings_levels THREADS: tests the savings of the levels, in percentage points
# of the content
findings_levels() {
	level_1=$(size "zstd1.p$1") level_2=$(size "zstd2.p$1")
	level_4=$(size "zstd4.p$1") level_9=$(size "zstd9.p$1")
	level_13=$(size "zstd13.p$1") level_14=$(size "zstd14.p$1")
	exact 'level 2 is a bit smaller than 1' \
	    "$(calc 'print (b < a)' a="$level_1" b="$level_2")" \
	    "$(saved "$level_1" "$level_2")"
	exact 'level 4 saves about 4 % (3 to 5 points)' \
	    "$(calc 'd = a - b; print (d >= 3 && d <= 5)' \
	    a="$level_1" b="$level_4")" "$(saved "$level_1" "$level_4")"
	exact 'level 9 saves about 5 % (4 to 6 points)' \
	    "$(calc 'd = a - b; print (d >= 4 && d <= 6)' \
	    a="$level_1" b="$level_9")" "$(saved "$level_1" "$level_9")"
	exact 'from 9 to 13 little is gained: less than by the step to 14' \
	    "$(calc 'print (a - b < b - c)' a="$level_9" b="$level_13" \
	    c="$level_14")" \
	    "9 to 13: $(saved "$level_9" "$level_13"); 13 to 14: $(saved "$level_13" "$level_14")"
	level_step=$(exports "^zstd(9|1[0-9])[.]p$1\$" 'line level, image_B' |
	    run_awk image-export-words -F '\t' what=step -)
	exact 'level 14 saves 6 points on level 1 (5 to 7)' \
	    "$(calc 'd = a - b; print (d >= 5 && d <= 7)' \
	    a="$level_1" b="$level_14")" "$(saved "$level_1" "$level_14")"
	exact 'and 11 on lz4hc (10 to 12)' \
	    "$(calc 'd = a - b; print (d >= 10 && d <= 12)' \
	    a="$size_hc" b="$level_14")" "$(saved "$size_hc" "$level_14")"
	exact 'level 14 is the largest step from 9 to 19' \
	    "$(calc 'print (a == 14)' a="$level_step")" \
	    "the largest step is to level ${level_step:--}"
}

# saved FROM TO: sets the saving in percentage points of the content's size, and
# as a percentage of the larger image
saved() {
	saved_text=$(calc 'printf "%.2f points, %.1f %% of the image", a - b,
	    100 * (a - b) / a' a="$1" b="$2")
	printf '%s' "${saved_text:-not measured}"
}

# finding_removed THREADS: tests the number of duplicates and the effect of
# removing them
finding_removed() {
	removed=$(column dup_n "zstd1.p$1")
	exact 'some duplicates are removed, with some effect' \
	    "$(calc 'print (n > 0 && a < b)' n="$removed" \
	    a="$(size "zstd1.p$1")" b="$(size "zstd1.nodup.p$1")")" \
	    "study about 4000 files, here ${removed:--} of $inodes; $(saved \
	    "$(size "zstd1.nodup.p$1")" "$(size "zstd1.p$1")")"
}
