#!/bin/sh
# The lazy pull study: its command line, and its report on known rows
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
have lapcmp || skip_all 'no lapcmp'

lazy=$SRC/scripts/lazy-pull
t 'help' 0 "$lazy" --help
shows 'lists the systems' 'overlayfs estargz estargz64 '
t 'an unknown option' 2 "$lazy" --image-list x
t 'an unknown image' 1 "$lazy" --images 'py r'
shows 'is named' "no image 'r'" .t.err
t 'an unknown system' 1 "$lazy" --systems 'overlayfs zfs'
shows 'is named, too' "no system 'zfs'" .t.err
t 'an invalid link' 1 "$lazy" --links '100 fast'
t 'no clients' 1 "$lazy" --clients 0
t 'an invalid delay' 1 "$lazy" --delay '0 x'
t 'an unknown cache' 1 "$lazy" --cache squid
t 'a shaped link to another machine' 1 "$lazy" --server host --links '100 open'
t 'an image without a command' 2 "$lazy" --image layout
t 'a command without an image' 2 "$lazy" --command true
if [ "$(id -u)" != 0 ]; then
	t 'not root' 77 "$lazy" --quick -o q.csv
	shows 'is reported' 'only root' .t.err
fi

# row LABEL SECONDS WIRE PULL FIRST RUN: prints a row
row() {
	echo "s,$1,pull_s=$4;create_s=0.01;run_s=0.2;first_s=$5;pull_B=9;run_B=9;index_B=500000;rss_KiB=20480;requests=12;server_cpu_s=0.25,$6,$6,1,all,cold,$2,1,0.5,9000,$3,10,0,"
}
{
	echo '# cpu: 2 x Known'
	echo '# files: py 200000000'
	echo '# touched: py hello 4000000 15'
	echo '# touched: py bash 20000000 21'
	echo '# published: py estargz 14.482 12.804 79361385'
	echo 'series,label,keys,run,round,pos,stage,cache,wall_s,user_s,sys_s,maxrss_KiB,rx_B,tx_B,exit,signal'
	for run in 1 2 3 4 5 6; do
		row py.hello.overlayfs.100 10.$run 80000000 7.$run 9.$run $run
		row py.hello.estargz.100 1.$run 5000000 0.1 0.$run $run
		row py.hello.estargz-trace.100 0.5$run 2000000 0.4 0.5 $run
		row py.hello.stargz.100 2.$run 6000000 0.1 1.$run $run
		row py.hello.estargz.100.d50 4.$run 5000000 0.1 3.$run $run
		row py.hello.cas.100.x4 4.$run 20000000 0.1 3.$run $run
		row py.hello.cas.100.x4.cache 4.$run 6000000 0.1 3.$run $run
		row root.import.overlayfs.100 40.$run 440000000 39 40 $run
		row root.import.zstd-trace.100 8.$run 75000000 7 8.$run $run
	done
	# a failed run, which does not count
	row py.hello.estargz.100 0.01 1 0 0 7 | sed 's/,0,$/,1,/'
} >known.csv
mkdir known.csv.d
printf '%s\n' 'py.hello.soci.100	there is no soci' >known.csv.d/missing
printf 'images	py root\nlinks	100\nruns	6\nseed	1\n' >known.csv.d/plan
t 'known rows' 0 "$lazy" -q -o known.csv report
tr -s ' ' <.t.out >report
shows 'a row of the table' \
    '^hello.estargz 6 0.10 0.01 0.20 1.35 1.10 .. 1.60 5.00 4.00 0.50 12 1.50 20 0.25$' report
shows 'what is needed' '^hello 4.00 MB in 15 files$' report
shows 'the conversion' '^estargz 14.5 12.8 79.36$' report
shows 'what is missing' '^py.hello.soci.100: missing: there is no soci$' report
shows 'the failed run' '^py.hello.estargz.100: 1 of 7 runs failed' report
shows 'the fastest system, and the one with the least data' \
    '^py.hello.100 6 estargz-trace 0.54 estargz-trace 2.00' report
# finding TEXT: prints its verdict
finding() {
	grep -A 1 -F -e "$1" report |
	    sed -n 's|: not tested: |: not tested, |; s|.*: ||; 2p'
}
is 'pulling takes most of a start' \
    "$(finding '76 % of a start (10 points; py.hello.100)')" 'holds here'
is 'but not of one with ROOT' \
    "$(finding '76 % of a start (10 points; root.import.100)')" \
    'does not hold here'
is 'little of the data is needed' "$(finding '(py.hello)')" 'holds here'
is 'nor is much of it transferred' "$(finding 'compressed (py.hello.100)')" \
    'holds here'
is 'a finding on a program that was run' \
    "$(finding 'half the time; stargz')" 'holds here'
is 'its bytes' "$(finding 'are loaded (stargz)')" 'holds here'
is 'one that was not run' "$(finding 'half the time; cvmfs')" 'not measured'
is 'a goal' \
    "$(finding '0.35 of the time of overlayfs (zstd-trace)')" 'holds here'
is 'what was not run is not decided' \
    "$(finding 'loads more than stargz')" 'not measured'
is 'a distant registry is slower' "$(finding 'takes longer (py.hello.est')" \
    'holds here'
is 'a cache for several clients' "$(finding '(py.hello.cas.100.x4)')" \
    'holds here'
is 'the best saving' "$(finding 'over 65 %')" 'holds here'
sed 's/py.hello.stargz.100/py.hello.other.100/' known.csv >format.csv
cp -r known.csv.d format.csv.d
t 'without the program' 0 "$lazy" -q -o format.csv report
tr -s ' ' <.t.out >report
is 'our client of its format is named, and decides nothing' \
    "$(finding 'half the time; stargz')" \
    'not tested, measured with our client for the format'
is 'nor do its bytes' "$(finding 'are loaded (stargz)')" \
    'not tested, measured with our client for the format'
done_testing
