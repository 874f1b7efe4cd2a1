#!/bin/sh
# Tests the mail study: its options, its results for known rows, and the figures
# of the published study.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"
. "$SRC/tests/mailfs.sh"

t 'usage' 0 study -h
t 'an invalid option' 2 told study --nope
t 'no such filesystem' 1 told study --fs fat .
t 'no such mode' 1 told study --mode twice .
t 'three writers' 1 told study --writers 3 .
t 'no such sector' 1 told study --ashift 8 .
t 'an invalid number' 1 told study -n x .
t 'nothing prepared' 1 told study -o none.csv report
t 'two directories' 2 told study a b
mkdir -p mails
echo x >mails/1
t 'no emulated machine' 77 env COLDPRESS_OPENZFS="$PWD/none" \
    sh "$SRC/scripts/mailfs" --fs openzfs -o machine/rows.csv mails
t 'no copier' 77 env COLDPRESS_OPENZFS="$PWD/none" \
    sh "$SRC/scripts/mailfs" --fs libzpool -o library/rows.csv mails

# Known rows: label, seconds (odd and even rounds), ratio, rounds.  All cells of
# a round are slowed equally, which cancels out in pairs.
known() {
	cat <<'EOF'
off.first 8 8 1 6
off.last 8.8 8.8 1 6
off.w1 8 8 1 6
lzjb.w1 9 9 1.6 6
gzip-2.w1 20 20 2.6 6
gzip-3.w1 13 13 2.6 6
gzip-4.w1 10 10 2.6 6
gzip-5.w1 10 10 2.7 6
gzip-7.w1 11 11 2.72 10
gzip-8.w1 10 13 2.7 6
gzip-9.w1 10 10 2.75 6
lzjb.w2 36 36 1.6 6
gzip-2.w2 60 60 2.6 6
gzip-4.w2 30 30 2.6 6
gzip-5.w2 30 30 2.7 6
gzip-8.w2 40 40 2.7 3
gzip-9.w2 33 33 2.75 6
lzjb.s2 18 18 1.6 6
gzip-5.s2 15 15 2.7 6
gzip-9.s2 15 15 2.75 6
EOF
}
mkdir known.csv.d
printf 'zfs-fuse.9.lz4\tunknown\nbtrfs\tthere is none\n' >known.csv.d/missing
cat >known.csv.d/plan <<'EOF'
dir	/none
runs	6
files	1000
pool	none
seed	1
EOF
{
	echo '# cpu: 2 x Known'
	known | awk '
	BEGIN { print "series,label,keys,run,round,pos,stage,cache,wall_s,user_s,sys_s,exit,signal" }
	{
		for (run = 1; run <= $5; run++) {
			s = (run % 2 ? $2 : $3) * (1 + run / 10)
			label = "zfs-fuse.9." $1
			end = "," run "," run "," NR ",all,unknown,"
			print "s," label ",apparent_B=10000000;files_n=1000;daemon_s=1.5;compressratio=" \
			    $4 ";logical_B=11000000;files_B=" \
			    int(11000000 / $4) ";all_B=" int(12000000 / $4) \
			    ";valid=yes" end s ",0.1,0.2,0,"
			print "s," label ".commit," end "0.5,0,0,0,"
		}
	}'
	# Rows that would change the medians if they were not excluded.
	row='s,zfs-fuse.9.gzip-5.w1,apparent_B=1;compressratio=99;logical_B=1;files_B=1;all_B=1'
	echo "$row;valid=no;why=9_of_10_files,7,7,1,all,unknown,0.001,0,0,0,"
	echo 's,zfs-fuse.9.gzip-5.w1.commit,,7,7,1,all,unknown,0.001,0,0,0,'
	echo "$row;valid=yes,8,8,1,all,unknown,0.001,0,0,1,"
	echo 's,zfs-fuse.9.gzip-5.w1.commit,,8,8,1,all,unknown,0.001,0,0,0,'
	echo "$row;valid=yes,9,9,1,all,unknown,0.001,0,0,0,"
	echo 's,zfs-fuse.9.gzip-5.w1.commit,,9,9,1,all,unknown,0.001,0,0,1,'
	echo "$row;valid=yes,10,10,1,all,unknown,0.001,0,0,0,"
} >known.csv
t 'known rows' 0 to known study -o known.csv report
last_words known '^On zfs-fuse\.9 with one writer, gzip-5 copied in 13\.50 s \(the median of n = 6\).*; it comes first in [0-9]+ % of the draws\.'
mkdir other.csv.d
grep -v '^pool' known.csv.d/plan >other.csv.d/plan
cp known.csv other.csv
t 'rows of another script' 1 study -o other.csv report

# Checks values that can be derived from the published table (computed with R).
line() { t "study: $1" 0 grep -q -F -- "$1" known; }
line 'their sum times 5 is 12.72 h'
line 'drops floor(0.1 x 5) = 0 of 5 values'
line 'is 1.008 (gzip-8,1) to 1.471 (lzjb,2) of the printed ratio over'
line 'order with 1 writer, mean of quotients:  gzip-5 gzip-6 gzip-3 gzip-8 gzip-4 gzip-7 gzip-9 gzip-2 gzip-1 lzjb'
line 'quotient of means:  gzip-5 gzip-6 gzip-8 gzip-3 gzip-4 gzip-9 gzip-7 gzip-1 lzjb gzip-2'
line 'order with 2 writers, mean of quotients:  gzip-5 gzip-4 gzip-8 gzip-3 gzip-7 gzip-1 gzip-6 gzip-9 gzip-2 lzjb'
line 'two writers: 0.332 of the efficiency of one, 3.27 times the time'
line 'a file takes 1.63 times as long; doubling explains 63 % of the loss'
line '21.56 and 29.74 % of the mean over all runs: 8.18 points more, or 37.9 %'
line 'the ten means alone vary by 11.07 and 19.36 %, so the runs in a cell vary by about 21 and 26 %'

# Times are slowed by factors of 1.1 to 1.6: for 10 s, the mean and the median
# are 13.5 s; the mean quotient is 2.7 / 10 times the mean of 1/1.1 .. 1/1.6.
t "the study's table" 0 grep -q -F \
    ' 5 gzip-5            1 0.015003015     183.4         2.723 |  6 0.203292333    13.500         2.700 0.200000000' known
t 'what is missing' 0 grep -q \
    '^ 1 gzip-1 .* | not measured$' known
t 'trimming needs ten values' 0 grep -q 'which drops 1 of 10 values' known
# With ten rounds, slowed by 1.1 to 2.0, the result is the mean of the middle
# eight.
t 'and is done' 0 grep -q -F \
    ' 7 gzip-7            1 0.012994211     214.6         2.747 | 10 0.163157442    17.050' known
t 'times' 0 grep -E -q \
    '^gzip-5 +w1  6   13.500 +11.000 \.\. 16.000 +14.000 +0.30 +1.50 +1.190 +1.190 \.\. 1.190$' known
t 'efficiency' 0 grep -E -q \
    '^gzip-9 +w1  6 +0.20398 +0.17188 \.\. 0.25000 .* 1 +100.0 +100.0 +1.5278$' known
t 'sizes' 0 grep -E -q \
    '^off +w1  1.000  0.833 +11000000 +1000000 +12000000 +0.0% ' known
t 'drift' 0 sh -c "tr '\\n' ' ' <known | grep -q -F 'the last copy of a block took 1.100 of the first (1.100 .. 1.100): the machine drifted'"
holds='holds here' fails='does not hold here' open='not decided'
verdict known 'gzip-5 is the best of the ten, one writer' "$fails"
verdict known 'gzip-5 is the best of the ten, two writers' "$holds"
verdict known 'gzip-4 comes close, one writer' "$holds"
verdict known 'gzip-3 comes close, one writer' "$fails"
verdict known 'gzip-8 comes close, one writer' "$open"
verdict known 'gzip-2 is much worse, one writer' "$holds"
verdict known 'gzip-9 is much worse, one writer' "$fails"
verdict known 'lzjb is fast: faster than gzip-5, one writer' "$holds"
verdict known 'but its ratio loses more than that: less efficient, one' "$holds"
verdict known 'gzip-3 comes close, two writers' 'not measured'
verdict known 'gzip-8 comes close, two writers' 'fewer than 6 pairs'
verdict known 'gzip-2 is much worse, two writers' "$holds"
verdict known 'gzip-9 is much worse, two writers' "$fails"
verdict known 'lzjb is fast: faster than gzip-5, two writers' "$fails"
verdict known 'two writers have a third of the efficiency' "$holds"
verdict known 'and not half' "$holds"
verdict known 'but they write everything twice' "$holds"
verdict known 'two that share the work lose efficiency' "$holds"
# The ratios of a round are 1/3, 1/3, 1/3, 0.303 and 0.25 (and, in three of six
# rounds, 0.25 or 0.325); the median of their geometric means is 0.309.  For two
# writers that share the work, the ratios are 2/3, 2/3 and 1/2.
t 'double work, by count' 0 grep -q \
    'due to double work (in logarithms): study 63 %, here 59 % by count$' known
t 'by sharing' 0 grep -q '^    by two that share the work: 57 %$' known
verdict known 'with two writers the efficiency varies more' "$holds"
# Each copy takes 1.8 s of processor time, so only the ratio affects the result,
# not the number of writers.
sed -n '/^The same on zfs-fuse.9 by processor time/,$p' known >cpu
verdict cpu 'gzip-5 is the best of the ten, one writer' "$fails"
verdict cpu 'gzip-3 comes close, one writer' "$holds"
verdict cpu 'gzip-9 is much worse, one writer' "$fails"
verdict cpu 'but its ratio loses more than that: less efficient, one' "$holds"
verdict cpu 'two writers have a third of the efficiency' "$fails"
t 'by processor time: the order' 0 grep -q \
    '^    order: gzip-9 gzip-7 gzip-5 gzip-8 gzip-' cpu
t 'and the share' 0 grep -q \
    'first in 0.0 % of the draws, the best median is that of gzip-9: ' cpu
# With fewer than 6 rounds, findings are undecided, however many algorithms
# there are.
t 'five rounds' 0 sh -c \
    "grep -v ',[6-9],[0-9]*,[0-9]*,all,\|,10,10,' known.csv >five.csv
    cp -r known.csv.d five.csv.d"
t 'five rounds have a report' 0 to five study -o five.csv report
for text in 'gzip-5 is the best of the ten, one writer' \
    'two that share the work lose efficiency' 'and not half' \
    'with two writers the efficiency varies more'; do
	t "not decided: $text" 0 sh -c \
	    "grep -F -A 1 '  $text' five | grep -q ': fewer than 6'"
done
t 'nor is the loss decided' 0 grep -q \
    'study 63 %, here not decided: fewer than 6 rounds$' five
is 'no share of draws is printed' "$(awk '/^gzip-9 +w1 +5 +0.21/ { print NF }' five)" 10
t 'nor is an interval printed' 1 grep -q '[0-9] \.\. [0-9].*[0-9]$' five
# A loss that is not significant is not broken down.
t 'an uncertain loss' 0 sh -c \
    "awk -F , -v OFS=, '\$2 ~ /w2\$/ && \$4 % 2 { \$9 /= 9 } { print }' known.csv >loss.csv
    cp -r known.csv.d loss.csv.d"
t 'has a report' 0 to loss study -o loss.csv report
t 'is not broken down' 0 grep -q \
    'here not decided: there may be no loss$' loss
t 'the family of verdicts' 0 grep -q \
    ' findings were tested, each with its own 95 % interval; ' known

t 'whatever is invalid is reported' 0 grep -q \
    '^zfs-fuse.9.gzip-5.w1: 4 left out: ' known
is 'why' "$(cut -f 2,3 known.csv.d/invalid | tr '\t\n' ' ;')" \
    '7 9_of_10_files;8 the copy failed;9 it could not be made durable;10 it could not be made durable;'
t 'and so is anything missing' 0 grep -q '^btrfs: missing: there is none$' known
t 'and unknown' 0 grep -q '^zfs-fuse.9: does not know lz4$' known
if have gnuplot; then
	for chart in efficiency ratio; do
		t "chart: $chart" 0 grep -q '</svg>' \
		    "known-zfs-fuse.9-$chart.svg"
	done
	is 'every run is in it' \
	    "$(grep -c 'run$' known-zfs-fuse.9-efficiency.tsv)" 109
fi
sed 's/zfs-fuse\.9/btrfs/; s/gzip-/zlib-/; s/lzjb/lzo/' known.csv >b.csv
cp -r known.csv.d b.csv.d
t 'btrfs' 0 to b study -o b.csv report
t 'without a daemon' 0 sh -c \
    'sed "s/;daemon_s=1.5//" known.csv >w.csv; cp -r known.csv.d w.csv.d'
t 'the daemon has no time' 0 to w study -o w.csv report
is 'so there is no such table' "$(grep -c '^The same on' w)" 0
t 'has stand-ins' 0 grep -q '^The study, and btrfs: zlib-N stands for gz' b
t 'in the table' 0 grep -q ' 5 gzip-5 .* |  6 0.203292333 ' b
verdict b 'gzip-5 is the best of the ten, two writers' "$holds"
verdict b 'lzjb is fast: faster than gzip-5, one writer' "$holds"
done_testing
