#!/bin/sh
# Tests the image study's report for known rows: tables and verdicts.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
study() { sh "$SRC/scripts/image-export" "$@"; }

# Known rows: label, seconds (even and odd runs), utilisation, memory, image,
# duplicates, runs.  The content is a million bytes.
known() {
	cat <<'EOF'
none.p2 10 10 0.9 100 997000 40 6
none.p4 10 10 1 100 997000 40 6
none.p8 4 4 1 100 997000 40 6
none.nodup.p2 10 10 1 100 1000000 - 6
lz4.p2 10.2 10.2 1.9 100 685000 40 6
lz4.p4 7 7 2.8 100 685000 40 6
lz4.p8 5 2.5 2.8 100 685000 40 6
lz4hc.p2 300 300 2 100 580000 40 6
lz4hc.p4 30 30 2 100 604000 40 6
zstd1.p2 20 20 2 100 554000 40 6
zstd1.p4 11 11 3 100 554000 40 6
zstd1.p8 3 3 1 100 554000 40 6
zstd1.p16 2 2 1 100 554000 40 6
zstd2.p2 20.5 20.5 2 100 530000 40 6
zstd2.p4 22 22 2 100 530000 40 6
zstd2.p8 2.5 4 2 100 530000 40 6
zstd3.p2 30 30 2 100 522000 40 6
zstd4.p2 40 40 2 100 514000 40 6
zstd9.p2 160 160 2 100 506000 40 3
zstd9.p4 88 88 2 100 506000 40 6
zstd10.p2 200 200 2 100 505000 40 1
zstd11.p2 200 200 2 100 504800 40 1
zstd12.p2 200 200 2 100 504600 40 1
zstd13.p2 200 200 2 100 504400 40 1
zstd14.p2 300 300 2 100 490000 40 1
zstd15.p2 300 300 2 100 489900 40 1
zstd16.p2 300 300 2 100 489800 40 1
zstd17.p2 300 300 2 100 489700 40 1
zstd18.p2 300 300 2 100 489600 40 1
zstd19.p2 300 300 2 100 489500 40 1
zstd1.nodup.p2 20.1 20.1 2 50 560000 - 6
zstd1.p2.read 1 1 1 100 - - 6
zstd9.p2.read 1 1 1 105 - - 6
zstd19.p2.read 1 1 1 300 - - 6
none.p2.start 4 4 1 10 - - 6
lz4.p2.start 3 3 1 10 - - 6
zstd1.p2.start 2 2 1 10 - - 6
zstd2.p2.start 3.5 4.5 1 10 - - 6
EOF
}
mkdir known.csv.d
: >known.csv.d/missing
cat >known.csv.d/plan <<'EOF'
dir	/none
start	exec sh ./start
threads	2 4 8
reader	unsquashfs
quick	yes
mounts	yes
inodes	1000
EOF
{
	echo '# cpu: 2 x Known'
	known | awk '
	BEGIN { print "series,label,keys,run,stage,cache,wall_s,user_s,sys_s,util,maxrss_KiB,exit,signal" }
	{
		for (run = 1; run <= $8; run++) {
			s = run % 2 ? $3 : $2
			keys = "resident_pct=100.0"
			if ($6 != "-")
				keys = keys ";image_B=" $6 ";plain_B=1000000"
			if ($7 != "-")
				keys = keys ";dup_n=" $7
			cache = $1 ~ /start$/ ? "cold" : "unknown"
			# All cells of a round are slowed equally.
			s *= 1 + run / 10
			print "s," $1 "," keys "," run ",all," cache "," s \
			    "," s * $4 ",0," $4 "," $5 * 1024 ",0,"
		}
	}'
	# A failed run, and a start that was not cold, would change the medians
	# if they were counted.
	echo 's,zstd1.p2,image_B=1;plain_B=1000000,7,all,unknown,0.001,0,0,1,1,1,'
	echo 's,zstd1.p2.start,,7,all,unknown,0.001,0,0,1,1,0,'
} >known.csv
t 'known rows' 0 to known study -o known.csv report
last_words known '^With 2 threads, zstd 1 took 1\.96 \(.*\) of the time of lz4\.'
# A study that was stopped: of what has a single run so far, nothing is stated
# as a fact, however many runs are planned.
mkdir part.csv.d
cp known.csv.d/* part.csv.d
echo 'runs	6' >>part.csv.d/plan
awk -F , '$2 !~ /[.]start$/ || $4 == 1' known.csv >part.csv
t 'a part of them' 0 to part study -o part.csv report
last_words part '^With 2 threads, zstd 1 took 1\.96 \(.*A cold start from zstd 1 took 0\.50 of that from an image without compression \(not decided: fewer than 6 pairs\)\.'
holds='holds here' fails='does not hold here' open='not decided'
verdict known 'lz4 is as fast as none, 2 threads' "$holds"
verdict known 'lz4 is as fast as none, 8 threads' "$open"
verdict known 'lz4hc is unusably slow, 2 threads' "$holds"
verdict known 'lz4hc is unusably slow, 4 threads' "$fails"
verdict known 'lz4hc is unusably slow, 8 threads' 'not measured'
verdict known 'none is smaller than its content, but only by' "$holds"
verdict known 'zstd 1 is by far the smallest' "$fails"
verdict known 'zstd 1 takes about twice the time of lz4' "$holds"
verdict known 'with 4 it catches up: as fast as none' "$holds"
verdict known 'and with lz4' "$fails"
verdict known 'and with 8 it is fastest: faster than lz4' "$open"
verdict known 'and than none' "$holds"
verdict known 'zstd 1 scales from 2 to 4 threads' "$holds"
verdict known 'zstd 1 scales from 4 to 8 threads' "$holds"
verdict known 'An I/O limit' "$holds"
verdict known 'and more threads would not help' "$fails"
verdict known 'level 2 costs almost nothing, 2 threads' "$holds"
verdict known 'level 2 costs almost nothing, 4 threads' "$fails"
verdict known 'level 2 costs almost nothing, 8 threads' "$open"
verdict known 'level 2 is the sweet spot' 'fewer than 6 runs of some level'
verdict known 'level 4 takes twice the time of 1, 2 threads' "$holds"
verdict known 'level 9 takes eight times, 2 threads' "fewer than 6 pairs"
verdict known 'level 9 takes eight times, 4 threads' "$holds"
verdict known 'level 2 is a bit smaller than 1' "$holds"
verdict known 'level 4 saves about 4 %' "$holds"
verdict known 'level 9 saves about 5 %' "$holds"
verdict known 'from 9 to 13 little is gained' "$holds"
t 'by this many points' 0 grep -q \
    '9 to 13: 0.16 points, 0.3 % of the image; 13 to 14: 1.44 points, 2.9 %' known
verdict known 'level 14 saves 6 points on level 1' "$holds"
verdict known 'and 11 on lz4hc' "$fails"
verdict known 'level 14 is the largest step' "$holds"
verdict known 'removing duplicates is free in time' "$holds"
verdict known 'and in memory' "$fails"
verdict known 'some duplicates are removed' "$holds"
verdict known 'reading back takes no more memory at level 9' "$holds"
verdict known 'reading back takes no more memory at level 19' "$fails"
# Without measurements a finding is undecided.  So is the finding about idle
# processors if other processes were busy.
variant() { sh -c "$1" <known.csv >v.csv; rm -rf v.csv.d; cp -r known.csv.d v.csv.d; }
t 'six runs of each level' 0 variant \
    "sed 'p;s/^\(s,zstd9.p2,[^,]*\),\([123]\),/\1,4\2,/' | awk '!seen[\$0]++'"
t 'have a report' 0 to v study -o v.csv report
verdict v 'level 2 is the sweet spot' "$holds"
t 'without lz4hc' 0 variant 'grep -v lz4hc'
t 'there is a report' 0 to v study -o v.csv report
verdict v 'zstd 1 is by far the smallest' 'not measured'
t 'one level' 0 variant "grep -v 's,zstd[2-9]'"
t 'has a report' 0 to v study -o v.csv report
verdict v 'level 2 is the sweet spot' 'not measured'
t 'a level that never pays off' 0 variant \
    "grep -v 's,zstd[3-8]' | sed 's/^s,zstd2.p2,\([^,]*\)530000/s,zstd2.p2,\1553999/; s/^s,zstd9.p2,\([^,]*\),\([123]\),.*/&/'"
t 'leaves no knee' 0 study -o v.csv report
t 'other work' 0 variant \
    "awk -F , -v OFS=, '\$2 == \"zstd1.p8\" { \$3 = \$3 \";machine_s=\" \$7 * 2 } { print }'"
t 'is noticed' 0 to v study -o v.csv report
verdict v 'An I/O limit' 'other processes used 50 % of the processors'
t 'without other work' 0 variant \
    "awk -F , -v OFS=, '\$2 == \"zstd1.p8\" { \$3 = \$3 \";machine_s=\" \$8 } { print }'"
t 'is fine' 0 to v study -o v.csv report
verdict v 'An I/O limit' "$holds"
t 'two threads alone' 0 sh -c \
    "sed -i 's/^threads	.*/threads	2/' v.csv.d/plan"
t 'are not the eight of the study' 0 to v study -o v.csv report
verdict v 'An I/O limit' 'not measured'
t 'one cold tree' 0 variant 'sed "0,/resident_pct=100.0/s//resident_pct=50.0/"'
t 'is not called warm' 0 to v study -o v.csv report
t 'but reported' 0 grep -q \
    '^1 of [0-9]* exports began with less than 99 % of it in memory' v
t 'pooled levels' 0 variant \
    "sed -n 'p;s/^s,zstd1\(.nodup\)*.p2,/s,zstd3\1.p2,/p' | grep -v ',[3-6],all'"
t 'do not count as rounds' 0 to v study -o v.csv report
verdict v 'removing duplicates is free in time' 'fewer than 6 pairs'
t 'the family of verdicts' 0 grep -q \
    '^22 findings were tested, each with its own 95 % interval; ' known
is 'prose is within 80 columns' "$(sed -n '/^22 findings/,/^$/p' known |
    awk 'length > 80')" ''

t 'the failed run is reported' 0 grep -q \
    '^zstd1.p2: 1 of 7 runs failed and are left out$' known
t 'and so is the warm start' 0 grep -q '; 1 not proven cold and left out' known
t 'oversubscription' 0 grep -q '^8 threads on 2 processors are oversub' known
# none.p2 is the fastest.  Rounds are slowed by 1.1 .. 1.6 (median 1.35), so
# zstd 1 takes 13.5 s more, and saves 2.7 s per start.
t 'break-even' 0 grep -E -q \
    '^zstd1.p2 +6 +2\.700 .* 13\.500 +2\.200 \.\. 3\.200 +5\.0 ' known
t 'levels that never pay' 0 grep -E -q '^zstd2.p2 .* never$' known
mkdir bin
for file in /usr/bin/* /bin/* /usr/sbin/*; do
	case $file in
	*/gnuplot*) ;;
	*) ln -sf "$file" bin/ ;;
	esac
done
t 'without gnuplot' 0 to known2 env PATH="$BIN:$PWD/bin" sh \
    "$SRC/scripts/image-export" -o known.csv report
t 'a message' 0 grep -q '^Charts: not drawn (no gnuplot)' known2
done_testing
