#!/bin/sh
# Tests the snap study's command line, and its report on published rows
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
have lapcmp || skip_all 'no lapcmp'

snap=$SRC/scripts/snap-startup
t 'help' 0 "$snap" --help
shows 'lists the programs' 'chromium supertuxkart mrrescue calculator'
t 'an unknown option' 2 "$snap" --app chromium
t 'an invalid number' 1 "$snap" --few x
t 'a missing description' 1 "$snap" --from nowhere.app prepare

# Rows as published by the study, from two consecutive runs.
seq 10 | awk -v OFS=: '{
	run = $1 > 5 ? $1 - 5 : $1
	# the first run had seven fields, the second has nine
	more = $1 > 5 ? ":9:9" : ""
	print run, "chromium", "try", 600000000, 2000 + $1, 1000 + $1 more, 3000
	print run, "chromium", "xz", 160000000, 6000 + $1, 1500 + $1 more, 9000 + $1
	print run, "chromium", "zstd", 200000000, 2400 + $1, 1300 + $1 more, 4000
	print run, "chromium", "gzip", 190000000, 2900 + $1, 1400 + $1 more, 4000
}' >published
awk 'BEGIN {
	for (i = 1; i <= 327; i++)
		print (i <= 10 ? 440 : i <= 100 ? 37 : 10) " root/file " i
}' | shuf >chromium-snap-files.txt
t 'published rows' 0 "$snap" --from-published published
squeeze() { tr -s ' ' <.t.out; }
squeeze >report
shows 'with their medians' '^try 600.0 1.00 | 10 2006 1006 - | 3000 -$' report
shows 'with ratios' '^xz 160.0 3.75 | 10 6006 1506 - | 9006 -$' report
shows 'zstd has level 15' '^zstd15 200.0 3.00 | 10 2406 1306' report
shows 'a finding that holds' \
    '^ chromium.xz.first/chromium.zstd15.first > 2: .* here 2.49.*: holds here$' report
shows 'one about sizes' 'here 3.75: holds here$' report
shows 'and one that does not' 'does not hold here' report
shows 'one without rows' 'not measured' report
shows 'the published ratio is that of the rows' \
    '^ chromium.try.second/chromium.try.first .*: study 0.50, here 0.50' report
shows 'one about files' '^ here 44 and 77 %: does not hold here$' report
shows 'one without their list' \
    '^ here - and - % (no ./supertuxkart-snap-files.txt): not measured$' report
shows 'their shares' '^chromium 327 0.0 44 % 77 %$' report
is 'and no other message' "$(cat .t.err)" ''
shows 'the best image for a slow link' '^chromium 1 xz xz ' report
shows 'and for a fast one' '^chromium 1000 zstd15 zstd15 zstd15 zstd15$' report
shows 'how many launches they rest on' \
    '^By medians, of at least n = 10; the differences were not tested\.$' report

# A study of our own that has only made walks: the part of an image that is the
# program itself is not the image.
mkdir walks.csv.d
printf 'apps\tcalc one\n' >walks.csv.d/plan
: >walks.csv.d/missing
{
	echo 'series,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal'
	while read -r image app both one; do
		for how in mount coldwalk; do
			end="1,all,cold,1.5,1,1,0,"
			echo "s,calc.$image.walk.app.$how,image_B=$app,$end"
			echo "s,calc.$image.walk.content.$how,,$end"
			echo "s,calc.$image.walk.both.$how,image_B=$both,$end"
			echo "s,one.$image.walk.app.$how,image_B=$one,$end"
		done
	done <<-EOF
		try 5000000 338000000 9000000
		zstd15 2300000 115000000 3000000
	EOF
	echo "s,calc.xz.walk.app.mount,image_B=2000000,$end"
} >walks.csv
t 'walks only' 0 "$snap" -o walks.csv report
squeeze >report
shows 'the size of all parts' '^zstd15 115.0 2.94 | .* 1500 1500$' report
shows 'is not that of one' '^xz - - | ' report
shows 'unless there is only one' '^zstd15 3.0 3.00 | .* 1500 1500$' report

# Another machine, where everything takes twice as long, except walking xz
# images.
awk -F : -v OFS=: '{
	$5 *= 2; $6 *= 2
	if ($3 != "xz")
		$NF *= 2
	print
}' published >slower
t 'two machines' 0 "$snap" report published slower
squeeze >report
shows 'side by side' '^chromium.xz 6006 12011 | 2.99 2.99$' report
shows 'and walks' '^chromium.xz 9006 9006 | 3.00 1.50$' report
shows 'rows are similar where they should be' \
    'chromium.xz.first/chromium.try.first: .*: similar$' report
shows 'and different where not' \
    'chromium.xz.walk.app.mount/chromium.gzip.*: different$' report
# Our own rows, one of them from a disturbed run that made more requests.
{
	echo 'series,label,keys,run,stage,cache,wall_s,user_s,sys_s,exit,signal'
	for run in 1 2 3 4 5 6 7; do
		n=$((run == 7 ? 1200 : 984))
		echo "s,x.try.first,image_B=5,$run,all,cold,1.$run,1,1,0,0"
		echo "s,x.gzip.first,before_B=0;loop_n=$n,$run,all,cold,2.$run,1,1,0,0"
	done
} >ours
t 'rows of our own' 0 "$snap" report ours published
squeeze >report
shows 'all but the disturbed one' '^x.gzip 2350 - ' report
t 'a missing machine' 1 "$snap" report published nowhere
shows 'is named' 'nowhere: no rows' .t.err
t 'something else' 1 "$snap" report published "$snap"
shows 'is distinguished' 'neither the rows of a study nor published ones' .t.err

sed 's/^1:chromium:xz:.*/1:chromium:xz:1:2:3/' published >short
t 'rows of another length' 1 "$snap" --from-published short
shows 'are reported' 'not ITER:SNAP:MODE' .t.err
t 'no such file' 1 "$snap" --from-published nowhere

cat >bad.app <<'EOF'
command=true
colour=red
EOF
if [ "$(id -u)" = 0 ]; then
	t 'an unknown key' 1 "$snap" --from bad.app -o bad.csv prepare
	shows 'is reported' 'bad.app: line 2 is not KEY=VALUE' .t.err
else
	t 'not root' 77 "$snap" --from bad.app -o bad.csv prepare
	shows 'is reported' 'only root' .t.err
fi

# Trees and their parts have the timestamps that an image can store.
mkdir -p tree/etc part/etc
touch -d '2020-01-01 00:00:00.75' tree/etc/file tree/etc
ln -s missing tree/link
# of_study COMMAND...: runs the study's functions
of_study() {
	sh -c '. "$1"; shift; "$@"' sh "$SRC/scripts/snap-startup-apps.sh" "$@"
}
t 'whole seconds' 0 of_study tree_times tree
is 'for files and directories' "$(stat -c '%.9Y' tree/etc/file tree/etc |
    cut -d . -f 2 | sort -u)" 000000000
t 'the parts of a tree' 0 of_study split_times part tree
is 'get its timestamps' "$(stat -c %Y part/etc)" "$(stat -c %Y tree/etc)"
done_testing
