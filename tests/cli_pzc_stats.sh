# shellcheck shell=sh
# --stats, PZC_STATS and -v give valid JSON and correct figures.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
seq 1 100000 >text
n=$(wc -c <text)
cat >look.py <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
need = {"name", "format", "decompress", "level", "threads", "in_B", "out_B",
    "ratio", "wall_s", "user_s", "sys_s", "util", "stall_in_s", "stall_out_s",
    "stall_work_s", "idle_s", "fill_cpu_s", "work_cpu_s", "finish_cpu_s",
    "join_cpu_s", "check_cpu_s", "write_cpu_s", "maxrss_KiB", "levels"}
for r in rows:
    assert need <= r.keys(), need - r.keys()
    for k in need - {"name", "format", "decompress", "level", "ratio", "util",
        "levels"}:
        assert r[k] >= 0, k
r = rows[-1]
print(*(eval(e) for e in sys.argv[2:]))
P
look() { python3 look.py "$@"; }

pzc --stats=s -p2 -c text >a.gz
is 'bytes in and out' "$(look s 'r["in_B"]' 'r["out_B"]')" \
    "$n $(wc -c <a.gz)"
is 'the operation' "$(look s 'r["name"]' 'r["format"]' 'r["level"]' \
    'r["decompress"]')" 'text gzip 6 False'
is 'the ratio' "$(look s 'abs(r["ratio"] - r["in_B"] / r["out_B"]) < .01')" \
    True
pzc --stats=s -dc a.gz >/dev/null
is 'a line is added' "$(look s 'len(rows)' 'r["decompress"]' 'r["level"]')" \
    '2 True None'
is 'out, decompressing' "$(look s 'r["in_B"]' 'r["out_B"]')" \
    "$(wc -c <a.gz) $n"
PZC_STATS=e pzc -F zstd <text >/dev/null
is 'PZC_STATS' "$(look e 'r["name"]' 'r["format"]')" 'standard input zstd'
PZC_STATS=e pzc -k --stats=s text
is 'both' "$(look e 'len(rows)') $(look s 'len(rows)')" '2 3'
pzc --stats <text 2>err >/dev/null
is 'to standard error' "$(look err 'len(rows)')" 1
PZC_STATS='' pzc <text >/dev/null
is 'an empty PZC_STATS means none' $? 0
for f in gzip zlib zip zstd lz4 xz lzma bzip2; do
	: >empty
	pzc -F $f --stats=s <empty >packed
	pzc -d --stats=s <packed >/dev/null
	is "$f: empty" "$(look s 'r["out_B"]' 'r["format"]')" "0 $f"
done
for name in 'quote"d' "$(printf 'new\nline')" "$(printf 'caf\351')" \
    "$(printf '\303\251')" 'back\slash' "$(printf 'bell\007')"; do
	cp text "$name"
	rm -f s
	pzc --stats=s -c "$name" >/dev/null
	t 'JSON with an odd name' 0 look s 'r["name"]'
done
rm -f s
for _ in 1 2 3 4 5 6 7 8; do pzc --stats=s -p1 -c text >/dev/null & done
wait
is 'eight at once: a line each' "$(look s 'len(rows)')" 8
pzc --stats=s text text 2>/dev/null
t 'JSON after an error' 0 look s
# The half second begins when the data has arrived at the other end: by then,
# pzc is waiting.
mkfifo out
{ echo one; read -r _ <out; sleep 0.5; cat text; } |
    pzc --flush-ms 20 --stats=w | pzc -d --flush-ms 20 |
    { read -r _; echo go >out; cat >/dev/null; }
is 'waiting for input is reported' "$(look w '.4 < r["stall_in_s"]')" True
# Here the half second begins when the pipe is full.
cat >slow.py <<'P'
import array, fcntl, sys, termios, time
F_GETPIPE_SZ, PAGE = 1032, 65536
size = fcntl.fcntl(0, F_GETPIPE_SZ)
there = array.array("i", [0])
while there[0] <= size - PAGE:
    time.sleep(0.01)
    fcntl.ioctl(0, termios.FIONREAD, there)
time.sleep(0.5)
while sys.stdin.buffer.read(1 << 20):
    pass
P
cat text text text text text text text text text text >ten
pzc -0 --stats=w <ten | python3 slow.py
is 'waiting for output is reported' "$(look w \
    '.4 < r["stall_out_s"] + r["stall_work_s"]')" True
t '--stats in a missing directory' 1 pzc --stats=no/s -c text
pzc -v -c text >/dev/null 2>err
t '-v reports sizes and ratio' 0 grep -q "$n ->" err
pzc -vt a.gz 2>err
is '-vt' $? 0
t '-vt reports sizes' 0 grep -q -- "-> $n" err
pzc -v <empty 2>err >/dev/null
t '-v of empty input: no nan' 1 grep -qi 'nan\|inf' err

done_testing
