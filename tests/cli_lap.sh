#!/bin/sh
# lap runs commands and pipelines, writes a row for each run, and leaves no
# files or processes, no matter how it ends.
# SPDX-License-Identifier: BSD-2-Clause
# Commands that lap runs expand their own variables.
# shellcheck disable=SC2016
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

rows() { grep -vc '^#' "$1"; }

clean() { [ -z "$(ls tmp)" ]; }

# Rows

t 'two commands, three rounds' 0 lap -n 3 -o a.csv -l x -l y -- true -- \
    sh -c 'exit 0'
is 'a header and six rows' "$(rows a.csv)" 7
is 'runs of the first' \
    "$(awk -F, '$4 == "x" { print $6 $7 }' a.csv | tr '\n' ' ')" '11 22 33 '
is 'positions are a permutation' "$(col a.csv pos | tr ' ' '\n' | sort |
    uniq -c | tr -s ' \n' ' ')" ' 3 1 3 2 '
is 'all exits are 0' "$(col a.csv exit)" '0 0 0 0 0 0'
is 'the summary' "$(sed 's/, wall.*//; s/takes .*/takes/' .t.err |
    tr '\n' ' ')" \
    'lap: x: n 3 lap: y: n 3 lap: y takes '
t 'all rows have all columns' 0 awk -F, '
    !/^#/ { if (!n) n = NF; if (NF != n) exit 1 }' a.csv
t 'provenance' 0 grep -q '^# kernel: Linux' a.csv.provenance
t 'the call' 0 grep -q "^# argv: lap -n 3 .* sh -c 'exit 0'" \
    a.csv.provenance
t 'the same seed, the same order' 0 lap -q -n 9 -S 5 -o s1.csv -l x -l y -l z \
    -- true -- true -- true
t 'again' 0 lap -q -n 9 -S 5 -o s2.csv -l x -l y -l z -- true -- true -- true
is 'orders are equal' "$(col s1.csv label)" "$(col s2.csv label)"
is 'the seed is reported' "$(col s1.csv seed | tr ' ' '\n' | sort -u)" 5
t 'another seed' 0 lap -q -n 9 -S 6 -o s3.csv -l x -l y -l z \
    -- true -- true -- true
t 'another order' 1 [ "$(col s1.csv label)" = "$(col s3.csv label)" ]

# Pipelines

printf 'one\n' >in
t 'a pipeline' 0 lap -q -n 1 -o p.csv -l p --stdout out -k a=1 -k b=2 -- \
    cat in '|' tr o 0 '|' cat
is 'its output' "$(cat out)" 0ne
is 'four rows' "$(col p.csv stage '')" '1 2 3 all'
is 'keys' "$(col p.csv keys)" 'a=1;b=2'
is 'size of the output' "$(col p.csv stdout_B)" 4
is 'the input file is reported' "$(grep '^# input' p.csv.provenance)" \
    '# input: in, 4 B'
if [ -n "$(col p.csv wchar_B 2)" ]; then
	is 'bytes of a stage' "$(col p.csv wchar_B 2)" 4
fi
t 'the last that failed' 3 lap -q -n 1 -o f.csv -l f -- \
    sh -c 'exit 2' '|' sh -c 'exit 3' '|' true
is 'each status is in its row' "$(col f.csv exit '')" '2 3 0 3'
t 'a signal gives 128 plus its number' 143 lap -q -n 2 -o k.csv -l k -- \
    sh -c 'kill -TERM $$'
is 'its row' "$(col k.csv exit)$(col k.csv signal)" ' 15 15'
t 'the status of the first run that failed' 7 lap -q -n 3 -o - -l x -- sh -c \
    'case $LAP_RUN in 2) exit 7 ;; 3) exit 8 ;; esac'
t 'another separator' 0 lap -q -n 1 --sep : -o sep.csv -l a -l b -- \
    sh -c 'test "$*" = "x -- y"' sh x -- y : true
is 'two commands' "$(col sep.csv cell | tr ' ' '\n' | sort | tr '\n' ' ')" \
    '1 2 '

# Input, output, environment

seq 1000 >numbers
t 'each run reads the input from the start' 0 lap -q -n 3 -o - -l x -- \
    sh -c 'test $(wc -l) = 1000' <numbers
t 'from where it was' 0 sh -c 'read -r _; read -r _; lap -q -n 2 -o - -l x \
    -- sh -c "read x; test \$x = 3" && read -r x && test "$x" = 3' <numbers
t 'a pipe is not read' 0 sh -c 'echo x | lap -q -n 1 -o - -l x -- \
    sh -c "! read x"'
t 'output is emptied for each run' 0 lap -q -n 3 -o o.csv -l x --stdout out2 \
    -- echo hello
is 'one line' "$(cat out2)" hello
t 'output to the file of the rows' 125 \
    lap -q -n 3 -o both.csv -l x --stdout both.csv -- echo hello
shows 'is refused' 'both.csv: it is the file of the rows' .t.err
t 'by another name, too' 125 sh -c 'ln both.csv other.csv
    lap -q -n 3 -o other.csv -l x --stdout both.csv -- echo hello'
t 'the file is still one of rows' 0 lap -q -n 2 -o both.csv -l x -- true
is 'and has them' "$(col both.csv run)" '1 2'
rm other.csv
cp numbers numbers2
t 'output to what is read' 125 sh -c \
    'lap -q -n 2 -o n2.csv -l x --stdout numbers2 -- cat <numbers2'
shows 'is refused, too' 'numbers2: it is the standard input' .t.err
same 'and kept' numbers2 numbers
t 'output to the standard output' 0 sh -c \
    'echo first >own; lap -q -n 2 -o n3.csv -l x --stdout own -- echo y >>own'
is 'which is kept' "$(tr '\n' ' ' <own)" 'first y y '
is 'the environment' "$(lap -q -n 1 -l 'a b' --stdout env -o e.csv -- true \
    '|' sh -c 'echo "$LAP_LABEL $LAP_RUN $LAP_STAGE"'; cat env)" 'a b 1 2'
t 'what pzc reports' 0 lap -q -n 2 -o z.csv -l z -- sh -c '
    test ! -e "$PZC_STATS" && echo "{\"in_B\":7}" >"$PZC_STATS" &&
    echo "{\"in_B\":12345678901,\"f\":\"x\",\"stall_in_s\":0.25}" \
    >>"$PZC_STATS"' '|' cat
is 'is in the row' "$(col z.csv in_B 1) $(col z.csv stall_in_s 1)" \
    '12345678901 12345678901 0.250000 0.250000'
is 'and in that of the run' "$(col z.csv in_B)$(col z.csv out_B 1)" \
    '12345678901 12345678901 '
t 'garbage there does no harm' 0 lap -q -n 1 -o z2.csv -l z -- sh -c '
    head -c 100000 /dev/zero >"$PZC_STATS"'
is 'and gives nothing' "$(col z2.csv in_B)" ''
t 'preparation' 0 lap -q -n 2 -w 1 -o w.csv -l w -p 'echo "$LAP_RUN" >>prep' \
    -- sh -c 'test "$(tail -n 1 prep)" = "$LAP_RUN"'
is 'before each run' "$(tr '\n' ' ' <prep)" '0 1 2 '
is 'warmups leave no row' "$(col w.csv run) $(col w.csv cache)" '1 2 warm warm'
t 'a failing preparation stops it' 125 lap -q -n 2 -o - -l x -p 'exit 3' -- \
    true

# Other outputs

t 'JSON' 0 lap -q -n 2 --json -o j.json -l 'q"x' -- true
is 'two objects' "$(grep -c '^{.*"label":"q\\"x".*}$' j.json)" 2
t 'rows to standard output' 0 lap -q -n 2 -l x -- true
is 'three lines' "$(grep -vc '^#' .t.out)" 3
t 'a table' 0 lap -n 2 --markdown -l 'a|b' -- true
is 'no rows with it' "$(wc -l <.t.out | tr -d ' ')" 3
shows 'a bar is escaped' '^| a\\|b | 2 | 0 |'
is 'no summary with it' "$(cat .t.err)" ''
t 'plain' 0 lap -q -n 1 --plain -o plain.csv -l x -- true
is 'has no pressure' "$(col plain.csv psi_cpu_us)$(col plain.csv rchar_B)" ''
t 'standard output closed' 125 sh -c 'lap -q -n 1 -l x -- true >&-'
t 'a table to closed standard output' 125 \
    sh -c 'lap -n 1 --markdown -l x -- true >&-'
t 'it matters only if used' 0 sh -c 'lap -q -n 1 -o n.csv -l x -- \
    sh -c "cat && echo x" <&- >&- 2>&-'
# The second run ends when the reader ends.  The output is a FIFO, because a
# shell that creates a pipe may still have its read end open.
mkfifo reader
t 'a reader that goes away' 125 sh -c '
    { head -n 1; exec <&-; : >away; } <reader &
    exec lap -q -n 9 -l x -- sh -c "test \$LAP_RUN = 1 ||
        until [ -e away ]; do sleep 0.1; done" >reader'
t 'a full disk' 125 lap -q -n 2 -o /dev/full -l x -- true

# Commands from a file

printf '# cells\n\none\ttrue\ntwo\techo a\tgrep -q a\n' >cells
t 'cells' 0 lap -q -n 2 -o cells.csv -f cells
is 'their rows' "$(col cells.csv stage '' | tr ' ' '\n' | sort | uniq -c |
    tr -s ' \n' ' ')" ' 2 1 2 2 4 all '
printf 'one\n' >bad
t 'a cell without a command' 125 lap -q -f bad
printf 'one\ttrue\ntwo\tec\000ho\nthree\ttrue\n' >bad
t 'a NUL in the cells' 125 lap -q -f bad
t 'cells on standard input' 0 sh -c 'lap -q -n 1 -o - -f - <cells'

# Errors

t 'help' 0 lap -h
t 'version' 0 lap -V
t 'no command' 125 lap -n 3
# stages N: a pipeline of N commands
stages() {
	stages_n=$1
	set -- cat
	while [ "$stages_n" -gt 1 ]; do
		set -- "$@" '|' cat
		stages_n=$((stages_n - 1))
	done
	lap -q -n 1 -l x -o - -- "$@"
}
t '64 stages' 0 stages 64
t '65 stages' 125 stages 65
shows 'are too many' 'x: more than 64 stages' .t.err
t '10,100 commands' 125 lap -q -n 1 -l x -o - -P a=1:101 -P b=1:100 -- true
shows 'are too many, too' 'more than 10000 commands' .t.err
t 'an invalid option' 125 lap --nope -- true
t 'an invalid number' 125 lap -n 0 -- true
t 'an invalid key' 125 lap -k 'a;b=1' -- true
t 'equal labels' 125 lap -- true -- true
t 'too many labels' 125 lap -l a -l b -- true
t 'too few labels' 125 lap -l a -- true -- false
t 'an empty stage' 125 lap -l a -- true '|'
t 'an empty command' 125 lap -l a -l b -- true -- -- false
t 'not found' 127 lap -q -- ./no-such-file
t 'not found in PATH' 127 lap -q -n 1 -- sh -c 'echo >ran' -- no-such-command
t 'nothing was run' 1 [ -e ran ]
: >text
t 'not executable' 126 lap -q -- ./text
chmod +x text
t 'not a program' 126 lap -q -- ./text
t 'no such interface' 125 lap -q --net no/such -- true
if [ -e /sys/class/net/lo ]; then
	t 'an interface' 0 lap -q -n 1 --net lo -o net.csv -l x -- true
	t 'has counters' 0 test -n "$(col net.csv rx_B)"
fi
t 'other columns are not overwritten' 125 sh -c 'echo a,b >other.csv
    echo 1,2 >>other.csv; lap -q -n 1 -o other.csv -- true'
is 'the file is as it was' "$(tr '\n' ' ' <other.csv)" 'a,b 1,2 '

# Resuming

t 'three of five' 0 lap -q -n 3 -o r.csv -l x -l y -- true -- true
t 'are continued to five' 0 lap -q -n 5 -r -o r.csv -l x -l y -- true -- true
is 'all runs, each once' "$(awk -F, '!/^#/ { print $4 $6 }' r.csv | sort |
    tr '\n' ' ')" 'labelrun x1 x2 x3 x4 x5 y1 y2 y3 y4 y5 '
is 'one series, one seed' "$(awk -F, '!/^#/ { print $1 $2 }' r.csv |
    sort -u | wc -l | tr -d ' ')" 2
t 'nothing is left to do' 0 lap -q -n 5 -r -o r.csv -l x -l y -- true -- true
is 'no more rows' "$(rows r.csv)" 11
t 'another command with the same label' 125 lap -q -n 5 -r -o r.csv -l x -l y \
    -- true -- false
shows 'which is named' "the label 'y' belongs to another command" .t.err
t 'the same label with another key' 0 \
    lap -q -n 2 -r -o r3.csv -k a=1 -l x -- true
t 'is another command' 0 lap -q -n 2 -r -o r3.csv -k a=2 -l x -- true
is 'with runs of its own' "$(col r3.csv keys)" 'a=1 a=1 a=2 a=2'
# as after a crash: a truncated last line
head -c -10 r.csv >r2.csv
t 'the interrupted run is repeated' 0 lap -q -n 5 -r -o r2.csv -l x -l y \
    -- true -- true
is 'all exist' "$(awk -F, '!/^#/ { print $4 $6 }' r2.csv | sort |
    tr '\n' ' ')" 'labelrun x1 x2 x3 x4 x5 y1 y2 y3 y4 y5 '
t 'resume needs a file' 125 lap -r -- true

# Nothing is left behind

# Finds a time-out that lets both start, at the machine's current speed.
for limit in 0.3 1 3 10 30 100; do
	rm -f pid pid2 t.csv
	t 'a time-out' 137 lap -q -n 1 -t $limit -o t.csv -l t -- sh -c '
	    sleep 1000 & echo $! >pid; (sleep 1001 & echo $! >pid2); sleep 1002'
	[ ! -s pid ] || [ ! -s pid2 ] || break
done
is 'its flag' "$(col t.csv flags | cut -d' ' -f1)" timeout
t 'a child is gone' 0 await gone "$(cat pid)"
t 'an orphan is gone' 0 await gone "$(cat pid2)"
t 'leftover processes are counted' 0 lap -q -n 3 -o l.csv -l l -l m -- sh -c '
    sleep 1000 & echo $! >pid; sleep 1000 &' -- sh -c 'sleep 0.01; true'
is 'two runs each' "$(grep -v ',m,' l.csv >only; col only left)" '2 2 2'
is 'the following runs succeed' "$(grep -v ',l,' l.csv >only; col only exit)" \
    '0 0 0'
t 'and gone' 0 await gone "$(cat pid)"
t 'a daemon started by -p keeps running' 0 lap -q -n 1 -o - -l x -p '
    sleep 1000 >/dev/null 2>&1 & echo $! >pid' -- true
t 'also for the next lap' 0 lap -q -n 1 -o - -l x -- true
t 'it exists' 0 kill "$(cat pid)"
t 'no files are left' 0 clean

third='[ -e free ] || [ "$LAP_RUN" != 3 ] && exit
    (sleep 1000 & echo $! >pid2); echo $$ >pid; sleep 1001'
# stop SIGNAL: sends the signal to lap during its third run
stop() {
	rm -f pid pid2 stop.csv
	# A shell ignores SIGINT in background commands.
	env --default-signal=INT lap -q -n 9 -o stop.csv -l x -- sh -c \
	    "$third" &
	lap_pid=$!
	await [ -s pid ]
	kill "-$1" "$lap_pid"
	stop_status=0
	wait "$lap_pid" || stop_status=$?
}
for sig in INT TERM HUP; do
	stop "$sig"
	n=$(kill -l "$sig" 2>/dev/null || echo 0)
	case $sig in INT) n=130 ;; TERM) n=143 ;; HUP) n=129 ;; esac
	is "SIG$sig ends lap" "$stop_status" "$n"
	is "SIG$sig: the runs before it are kept" "$(col stop.csv run)" '1 2'
	t "SIG$sig: the command is gone" 0 await gone "$(cat pid)"
	t "SIG$sig: its orphan is gone" 0 await gone "$(cat pid2)"
	t "SIG$sig: no files are left" 0 clean
done
stop KILL
is 'SIGKILL: the runs before it are kept' "$(col stop.csv run)" '1 2'
t 'SIGKILL: the command is gone' 0 await gone "$(cat pid)"
# Any later lap kills the orphan, not only one in the same series.
: >free
t 'the next lap kills it' 0 lap -q -n 9 -r -o stop.csv -l x -- sh -c "$third"
is 'all runs' "$(col stop.csv run)" '1 2 3 4 5 6 7 8 9'
t 'and kills the orphan' 0 await gone "$(cat pid2)"
t 'no files are left' 0 clean
t 'no groups are left' 1 sh -c "ls /sys/fs/cgroup /sys/fs/cgroup/unified \
    2>/dev/null | grep -q '^lap\\..*\\.$lap_pid\\.'"

# A command's peak memory cannot be measured below lap's own.  lap's memory is
# small if lap is static: it consists of code, whose size depends on the C
# library, and a little data.  It must remain small after many runs.
lap -n 300 -o peak.csv -l x -l y -- sh -c 'exec >peak
    grep -c libc /proc/$PPID/maps
    grep -E "^(VmHWM|RssAnon)" /proc/$PPID/status' -- true '|' true 2>/dev/null
if [ "$(head -n 1 peak)" = 0 ]; then
	t 'lap takes 2 MiB at most' 0 awk \
	    '/^VmHWM/ { exit !($2 > 0 && $2 <= 2048) }' peak
	t 'its data 256 KiB' 0 awk \
	    '/^RssAnon/ { exit !($2 > 0 && $2 <= 256) }' peak
fi

# The system clock is not used for times: a clock that runs a thousand times too
# fast (even for lap, unless lap is static) changes nothing.
if have faketime && faketime -f '+1d' lap -V >/dev/null 2>&1; then
	t 'a fast clock' 0 env FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f \
	    '@2000-01-01 00:00:00 x1000' lap -q -n 1 -o clock.csv -l x -- \
	    sh -c 'exec 2>/dev/null; cat /dev/null'
	t 'is not trusted' 0 awk -v s="$(col clock.csv wall_s)" \
	    'BEGIN { exit !(s < 30) }'
fi
done_testing
