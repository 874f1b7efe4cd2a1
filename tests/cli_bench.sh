#!/bin/sh
# Tests the code shared by the benchmarks: they keep rows of different inputs,
# options and versions apart, and refuse an input without data.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
bench() {
	bench_name=$1
	shift
	sh "$SRC/scripts/bench-$bench_name" "$@" </dev/null
}

# refused WORDS COMMAND...: the command exits with 1, prints only a message
# that contains WORDS, and creates no folder
refused() {
	refused_words=$1
	shift
	t "refused: $*" 1 to out told "$@"
	is 'without a table' "$(cat out)" ''
	t "because: $refused_words" 0 grep -q "^bench-.*$refused_words" err
	is 'in one line' "$(wc -l <err)" 1
	t 'and makes no folder' 1 test -e new
}

mkdir A B none
: >none/empty
for i in 1 2 3; do
	seq $i 9000 >A/$i
	seq $i 8000 >B/$i
done
cat A/* >A/f
cat B/* >B/f
tar -C A -cf A/t.tar 1 2 3
tar -C B -cf B/t.tar 1 2 3
fake peer <<'S'
cp "$3" "$4"
S

benches=
! have pzc || benches="$benches pzc"
! have sqpack || ! have mksquashfs || ! have openssl || benches="$benches sqpack"
! have coldwalk || ! have mksquashfs || benches="$benches coldwalk"
! have layermount || ! have mksquashfs || benches="$benches mount"
! have layerpack || benches="$benches layers"

# input_of BENCH DIR: prints what the benchmark measures in DIR
input_of() {
	case $1 in
	pzc) echo "$2/f" ;;
	layers) echo "$2/t.tar" ;;
	*) echo "$2" ;;
	esac
}

for name in $benches; do
	case $name in
	pzc) set -- -n 1 --jobs gzip-6 ;;
	sqpack) set -- -n 1 --jobs zstd-1-mixed --out . ;;
	coldwalk) set -- -n 1 --jobs mixed-zstd prepare ;;
	mount) set -- -n 1 --jobs names prepare ;;
	layers) set -- -n 1 --jobs estargz --peer fake/peer --out . ;;
	esac
	refused 'no such file\|not a directory' bench "$name" "$@" -o new nowhere
	case $name in
	pzc | layers) refused 'is empty' bench "$name" "$@" -o new none/empty ;;
	*) refused 'no file with data' bench "$name" "$@" -o new none ;;
	esac
	rm -rf new
	refused 'nothing has been prepared' bench "$name" -o new report
	refused 'no job' bench "$name" "$@" -o new --jobs nothing \
	    "$(input_of "$name" A)"

	t "$name: measured" 0 bench "$name" "$@" -o "$name" "$(input_of "$name" A)"
	refused 'was started with a different' bench "$name" "$@" -o "$name" \
	    "$(input_of "$name" B)"
	t "$name: again" 0 bench "$name" "$@" -o "$name" "$(input_of "$name" A)"
	mkdir -p new
	echo mine >new/file
	t "$name: a folder with other files" 1 bench "$name" "$@" -o new \
	    "$(input_of "$name" A)"
	is 'is left alone' "$(ls new)" file
	rm -rf new
	rm -rf was
	cp -Rp A was
	for file in A/1 A/f A/t.tar; do
		printf x >>$file
	done
	refused 'was started with a different' bench "$name" "$@" -o "$name" \
	    "$(input_of "$name" A)"
	rm -rf A
	mv was A
	t "$name: the input as it was" 0 bench "$name" "$@" -o "$name" \
	    "$(input_of "$name" A)"
done

case $benches in
*pzc*sqpack*)
	refused 'contains another study, bench-pzc' bench sqpack -o pzc report
	;;
esac
case $benches in
*pzc*)
	t 'a report' 0 to table bench pzc -o pzc report
	t 'has the row' 0 grep -q '^| gzip-6 | f | .*| pzc -6 -p1: ' table
	t 'and names the input' 0 grep -q "^# input: f: $PWD/A/f, " table
	refused 'different threads' bench pzc -o pzc -p 3 report
	t 'another input beside it' 0 bench pzc -n 1 --jobs gzip-6 -o pzc A/1
	t 'both' 0 to table bench pzc -o pzc report
	is 'are in the table' "$(sed -n \
	    's/^| gzip-6 | \([^ ]*\) .*pzc -6 -p1:.*/\1/p' table |
	    tr '\n' ' ')" 'f 1 '
	refused 'different 1 ' bench pzc -o pzc B/1
	refused 'no input' bench pzc -o pzc --kinds nothing
	t 'stages' 0 bench pzc --stages -n 2 --jobs gzip-6 -o stages A/f
	is 'are measured' "$(cut -f 1,2 stages/stages.tsv | uniq -c | tr -s ' \t' ' ')" \
	    ' 2 gzip-6 f'
	printf 'gzip-6\tf\t%s\t2\t1\t.25\t.125\t.125\t10.00\t5.00\n' \
	    0.1 0.1 .3 >stages/stages.tsv
	t 'of known times' 0 to table bench pzc --stages -o stages report
	is 'are the medians, with what limits more workers' \
	    "$(grep '^| gzip' table)" \
	    '| gzip-6 | f | 0.100 | 2.000 | 1.000 | 0.250 | 0.125 | 0.125 | 10.0 % | 5.0 % | 3 |
| gzip-6 | f | 0.67 | 2 | 2 | 2 | 6: joining |'
	cp A/f 'A/f f'
	refused 'may not contain blanks' bench pzc -o new 'A/f f'
	fake pzc <<-EOF
		exec "$BIN/pzc" "\$@"
	EOF
	refused 'different pzc_cksum' env COLDPRESS_BIN="$PWD/fake:$BIN" \
	    sh "$SRC/scripts/bench-pzc" -o pzc run
	rm fake/pzc
	if [ "$(id -u)" != 0 ]; then
		chmod 0 A/2
		refused 'cannot be read' bench pzc -o new A/2
	fi
	;;
esac
case $benches in
*coldwalk*)
	is 'only what the job needs' "$(find coldwalk -maxdepth 1 \
	    -name 'mixed*' -o -maxdepth 1 -name 'small*' | sort |
	    tr '\n' ' ')" 'coldwalk/mixed coldwalk/mixed.zstd '
	refused 'different many' bench coldwalk -o coldwalk --files 9 prepare
	;;
esac
case $benches in
*layers*)
	t 'a report on layers' 0 to table bench layers -o layers report
	t 'has the row' 0 grep -q '^| t.tar | estargz | [0-9.]* (n < 6) | ' \
	    table
	;;
esac
done_testing
