#!/bin/sh
# Tests the tarball study on a small tree: its table, its rows, and resuming.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
have pzc || skip_all 'no pzc'

study() { sh "$SRC/scripts/tarball" --quick --warm "$@"; }
# runs FILE: prints the number of whole runs per label, as LABELxN ...
runs() {
	grep -v '^#' "$1" | awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["stage"] == "all" || !seen[$at["label"] "," $at["run"]]++ {
		key = $at["label"] "," $at["run"]
		if (!counted[key]++) n[$at["label"]]++
	}
	END { for (l in n) print l "x" n[l] }' | sort | tr '\n' ' '
}
# row TABLE ID: checks that this row has the study's four numbers
row() {
	grep -E "^$2 +tar .* [0-9]+\.[0-9]{2} +[0-9]+\.[0-9] +[0-9]+\.[0-9] +[0-9]+\.[0-9]%\$" "$1"
}

mkdir tree
seq 100000 >tree/a
seq 5000 | sed 's/$/ some words that come again/' >tree/b

t 'the study runs' 0 to table study -n 2 -o r.csv \
    --rows 'A[1-4] B[1-4] A10' tree out
for id in A1 A2 A3 A4 B1 B2 B3 B4 A10; do
	t "row $id" 0 row table $id
done
t 'inodes' 0 grep -q '^Source inodes             : 3$' table
t 'bytes' 0 grep -q "^Source disk usage (bytes) : $(du -sb tree | cut -f 1)\$" table
last_words table \
    "^pzc -p1 took [0-9.]+ of gzip's time \(not decided: fewer than 6 pairs\)\."
said=$(tr '\n' ' ' <table | sed -n 's/.*Caches: \([^%]*\) %.*/\1/p')
least=$(grep -o 'resident_pct=[0-9.]*' r.csv | sed 's/.*=//' | sort -n |
    sed q)
is 'what was in memory' "$said" \
    "warm, read once before each run. At least ${least:-nothing}"
is 'every run has its rows' "$(runs r.csv)" \
    'A10x2 A1x2 A2x2 A3x2 A4x2 B1x2 B2x2 B3x2 B4x2 '
t 'OUT is gone' 1 test -e out
t 'lapcmp reads the rows' 0 lapcmp r.csv
# given LABEL: prints the smallest number of bytes that tar read in a run
given() {
	grep -v '^#' r.csv | awk -F , -v label="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label && $at["stage"] == 1 {
		v = $at["rchar_B"]
		if (least == "" || v < least)
			least = v
	}
	END { print least + 0 }'
}
t 'B1 really reads the files' 0 test "$(given B1)" -ge 600000

cp r.csv before.csv
t 'again: nothing is run' 0 to table2 study -n 2 -o r.csv tree out
same 'the same table' table table2
t 'the same rows' 0 sh -c 'grep -v "^#" before.csv >x; grep -v "^#" r.csv | cmp - x'
t 'more runs' 0 study -n 3 -o r.csv prepare
t 'step by step' 0 study -o r.csv run
t 'a report of these rows' 0 to table3 study -o r.csv report
is 'three of each' "$(runs r.csv)" \
    'A10x3 A1x3 A2x3 A3x3 A4x3 B1x3 B2x3 B3x3 B4x3 '

killed k.csv sh "$SRC/scripts/tarball" --quick --warm -n 4 \
    --rows 'A[12] B[12]' -o k.csv tree out2
t 'it continues after KILL' 0 study -n 4 -o k.csv tree out2
is 'every run once' "$(runs k.csv)" 'A1x4 A2x4 B1x4 B2x4 '
t 'OUT is then also gone' 1 test -e out2

# The engines: GNU parallel, and a Slurm array job run by a stand-in.
if have parallel; then
	t 'GNU parallel' 0 study -n 2 --rows 'A[12]' --engine parallel \
	    -o p.csv tree out
	is 'ran each cell' "$(runs p.csv)" 'A1x2 A2x2 '
fi
mkdir slurm
printf '#!/bin/sh\n' | tee slurm/squeue slurm/scancel >slurm/scontrol
cat >slurm/sbatch <<'EOF'
#!/bin/sh
for word in "$@"; do
	case $word in
	--array=1-*%1) last=${word#*-} last=${last%\%1} last=${last##*-} ;;
	esac
	script=$word
done
i=1
while [ $i -le "$last" ]; do
	SLURM_ARRAY_TASK_ID=$i sh "$script" || exit 1
	i=$((i + 1))
done
echo 1
EOF
chmod +x slurm/*
t 'Slurm' 0 env PATH="$PWD/slurm:$PATH" sh "$SRC/scripts/tarball" --quick \
    --warm -n 2 --rows 'A[12]' --engine slurm -o s.csv tree out
is 'also ran each cell' "$(runs s.csv)" 'A1x2 A2x2 '
t 'no such engine' 1 study -n 1 --rows A1 --engine cloud -o e.csv tree out

mkdir bin
for file in /usr/bin/* /bin/*; do
	case $file in
	*/pbzip2) ;;
	*) ln -sf "$file" bin/ ;;
	esac
done
t 'without pbzip2' 0 to table4 env PATH="$BIN:$PWD/bin" sh \
    "$SRC/scripts/tarball" --quick --warm -n 1 --rows 'A[17] B1' -o m.csv tree out
t 'its row is reported as missing' 0 \
    grep -q '^A7 .*missing: pbzip2' table4

# A file that appears as OUT after the study began is kept.
t 'prepare' 0 study -n 1 --rows 'A1 B1' -o u.csv prepare tree mine
echo mine >mine
t 'a file that appears in the meantime' 1 told study -o u.csv run
t 'is reported' 0 grep -q 'mine exists, and was not created by this study' err
is 'and is kept' "$(cat mine)" mine
rm mine
t 'the study continues without it' 0 study -o u.csv run
t 'and OUT is gone' 1 test -e mine

odd='blanks [x] & more'
cp -r tree "$odd"
t 'odd names' 0 to table study -n 1 --rows 'A[12] B1' -o "$odd.csv" "$odd" \
    "$odd.out"
t 'have rows' 0 grep -E -q '^A2 +tar -cz .* [0-9]+\.[0-9]%$' table
t 'their OUT is gone' 1 test -e "$odd.out"
for other in '--remote here' '-S 7'; do
	# shellcheck disable=SC2086
	t "another $other" 1 told study -o u.csv $other
	t 'is refused' 0 grep -q 'was started with a different' err
done
[ "$(id -u)" != 0 ] || t '--cold after --warm' 1 told sh \
    "$SRC/scripts/tarball" --quick --cold -o u.csv

t 'OUT inside DIR' 1 study -o n.csv tree tree/out
t 'OUT exists' 1 study -o n.csv tree tree/a
t 'no DIR' 1 study -o n.csv none out
if [ -d /dev/shm ] && [ -w /dev/shm ] &&
    [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ]; then
	t 'OUT on another filesystem' 1 study -o n.csv tree /dev/shm/out.$$
fi
t 'an invalid number' 1 study -n x -o n.csv tree out
t 'an invalid option' 2 study --nope
done_testing
