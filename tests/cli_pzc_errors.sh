# shellcheck shell=sh
# Damaged streams, full disks and closed descriptors lead to a message, status
# 1, no output, and an unchanged input.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 60 >text
seq 1 30000 >long
formats='gzip zlib zip zstd lz4 xz lzma bzip2'

# refuse NAME FILE: checks that all operations that read it fail and do not
# change it
refuse() {
	cp "$2" r.in && cp r.in r.keep
	r_rc=0
	timeout 300 pzc -dp"${3:-2}" -S .in r.in 2>r.err || r_rc=$?
	if [ $r_rc = 1 ] && [ "$(wc -l <r.err)" = 1 ] && [ ! -e r ] &&
	    cmp -s r.in r.keep; then
		return
	fi
	not_ok "$1"
	echo "# status $r_rc, $(head -c 200 r.err)"
	[ ! -e r ] || echo '# and there is an output'
	rm -f r
	bad=1
}

# What libraries say of each bit and each length of small streams is compared in
# tests/test_verdicts.c.  Here the tool's status, message and files count, for
# some of them; for zip, which has no such library, for all.

# Tests a small file, truncated.
for f in $formats; do
	pzc -F "$f" <text >whole
	n=$(wc -c <whole) bad=0 i=0
	# pzc reads neither a zip archive's directory nor the sizes just before
	# it, because the CRC before the sizes is sufficient
	[ "$f" != zip ] || n=$(($(LC_ALL=C grep -abo \
	    "$(printf 'PK\001\002')" whole | cut -d: -f1) - 8))
	step=5 && [ "$f" != zip ] || step=1
	while [ $i -lt "$n" ]; do
		head -c $i whole >part
		refuse "$f: cut to $i of $n" part $((i % 2 + 1))
		i=$((i + step))
	done
	[ $bad = 1 ] || ok "$f: lengths from 0 to $((n - 1)) are refused"
done

# The same in a second stream, beyond its header.
for f in gzip zstd lz4 xz bzip2; do
	pzc -F "$f" <text >whole
	n=$(wc -c <whole) bad=0 i=14
	while [ $i -lt "$n" ]; do
		{ cat whole && head -c $i whole; } >part
		refuse "$f: cut to $i of $n in the second stream" part \
		    $((i % 2 + 1))
		i=$((i + 5))
	done
	[ $bad = 1 ] || ok "$f: a second stream cut short is refused"
done

# Tests a longer file, truncated at some positions, with several threads.
for f in $formats; do
	pzc -F "$f" -b 64 <long >whole 2>/dev/null || pzc -F "$f" <long >whole
	n=$(wc -c <whole) bad=0
	for part in 1 2 3 5 8 9; do
		head -c $((n * part / 10)) whole >part
		refuse "$f: cut to $part tenths" part 4
	done
	[ $bad = 1 ] || ok "$f: cut within its blocks"
done

# Bits are flipped, one at a time: in a small file, and at both ends and 47 other
# places in one of several blocks.  A flipped bit is an error if, and
# only if, other readers of the format find one; none of them changes the output.
# The format's reference must be the judge: a check whose failure leaves the
# output intact would be missed otherwise.
cat >flip.py <<'P'
import bz2, lzma, shutil, subprocess, sys, zlib

f, tool, text, step, *options = sys.argv[1:]
whole = open("whole", "rb").read()
want = open(text, "rb").read()


def said_by(*command):
    def judge(data):
        return subprocess.run(command, input=data, capture_output=True,
                              timeout=300).returncode == 0
    return judge if shutil.which(command[0]) else None


def library(decompress):
    def judge(data):
        try:
            return decompress(data) == want
        except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError):
            return False
    return judge


def inflate(bits):
    def all_of(data):
        d = zlib.decompressobj(bits)
        text = d.decompress(data) + d.flush()
        if not d.eof or d.unused_data:
            raise ValueError
        return text
    return all_of


def zip_judge(data):
    """pzc uses neither times, versions and sizes nor the directory."""
    at = [i for i in range(len(whole)) if data[i] != whole[i]][0]
    name = 30 + int.from_bytes(whole[26:28], "little")
    if at < name:
        # a name that ends in a slash is that of a directory
        bit = data[at] ^ whole[at]
        return (4 <= at < 6 or at == 6 and bit & 0xf6 or at == 7 or
                10 <= at < 26 or 30 <= at and data[name - 1:name] != b"/")
    d = zlib.decompressobj(-15)
    try:
        if d.decompress(data[name:]) != want:
            return False
    except zlib.error:
        return False
    n = len(data) - len(d.unused_data)
    return data[n:n + 8] == whole[n:n + 8]


judge = {
    "gzip": library(inflate(31)),
    "zlib": library(inflate(15)),
    "zip": zip_judge,
    "bzip2": library(bz2.decompress),
    "xz": library(lambda d: lzma.decompress(d, lzma.FORMAT_XZ)),
    "lzma": library(lambda d: lzma.decompress(d, lzma.FORMAT_ALONE)),
    "zstd": said_by("zstd", "-tq"),
    "lz4": said_by("lz4", "-tq"),
}[f]
n = 8 * len(whole)
bits = range(0, n, int(step))
if n > 10000:
    bits = sorted({*range(0, 200, int(step)), *range(0, n, n // 47),
                   *range(n - 200, n, int(step))})
wrong = []
for bit in bits:
    d = bytearray(whole)
    d[bit // 8] ^= 1 << bit % 8
    d = bytes(d)
    r = subprocess.run([tool, "-dc", "-F", f, *options], input=d,
                       capture_output=True, timeout=300)
    said = r.stderr.count(b"\n")
    good = r.stdout == want and (r.returncode, said) in ((0, 0), (2, 1))
    bad = r.returncode == 1 and said == 1
    # lzma has no check: what is decoded may be anything.  Its header may ask
    # for a dictionary that pzc refuses without --long.
    if f == "lzma":
        if r.returncode == 0 or bad and (b"--long" in r.stderr or not judge(d)):
            continue
    if not (good if judge is None or judge(d) else bad):
        wrong.append((bit, r.returncode, r.stderr[:100]))
for w in wrong[:5]:
    print("#", *w)
sys.exit(bool(wrong))
P
flipped() { python3 flip.py "$1" "$(command -v pzc)" "$2" "$3" "$4"; }
for f in $formats; do
	pzc -F "$f" <text >whole
	step=9 && [ "$f" != zip ] || step=1
	t "$f: flipped bits, -p1" 0 flipped "$f" text $step -p1
	t "$f: flipped bits, -p2" 0 flipped "$f" text 13 -p2
	pzc -F "$f" -b 64 <long >whole 2>/dev/null || pzc -F "$f" <long >whole
	t "$f: flipped bits at the ends, -p4" 0 flipped "$f" long 5 -p4
done

# Tests noise after each magic number.
for m in '\037\213\010\000' '\170\234' 'PK\003\004\024\000\000\000\010\000' \
    '\050\265\057\375' '\004\042\115\030' '\3757zXZ\000\000\004' \
    '\135\000\000\200\000' 'BZh9' '\037\235\220' '\120\052\115\030' \
    '\002\041\114\030'; do
	for i in 1 2 3; do
		{ printf '%b' "$m"; head -c 5000 /dev/urandom; } >noise
		# shellcheck disable=SC2016 # for the inner shell
		t "noise after $m" 0 sh -c \
		    'timeout 300 pzc -dp'$i' <noise >back 2>err
		    [ $? = 1 ] && [ "$(wc -l <err)" = 1 ]'
	done
done

# Tests a full disk.
if [ -c /dev/full ]; then
	printf abcd >four
	pzc <four >four.gz
	for f in four long; do
		for p in 1 4; do
			t "$f to a full disk, -p$p" 1 to /dev/full pzc -cp$p $f
			pzc -kf $f
			t "$f from .gz to a full disk, -p$p" 1 \
			    to /dev/full pzc -dcp$p $f.gz
		done
	done
	t '-f -o /dev/full' 1 pzc -f -o /dev/full four
	t 'messages to a full disk do no harm' 0 sh -c \
	    'pzc -vc four 2>/dev/full >out; gzip -t <out'
	t '--stats to a full disk is an error' 1 pzc --stats=/dev/full -c four
fi

# Tests a reader that goes away.
head -c 3000000 /dev/urandom >big
pzc <big >big.gz
for o in -c -dc; do
	f=big && [ $o = -c ] || f=big.gz
	for p in 1 4; do
		# shellcheck disable=SC2016
		t "$o -p$p: EPIPE with SIGPIPE ignored" 0 bash -c '
		    trap "" PIPE
		    timeout 300 pzc '$o' -p'$p' '$f' 2>err | head -c 1 >/dev/null
		    [ ${PIPESTATUS[0]} = 1 ] && grep -q "Broken pipe" err'
		# shellcheck disable=SC2016
		t "$o -p$p: SIGPIPE" 0 bash -c '
		    timeout 300 pzc '$o' -p'$p' '$f' 2>err | head -c 1 >/dev/null
		    [ ${PIPESTATUS[0]} = 141 ] && [ ! -s err ]'
	done
done
mkfifo gate gate2
(exec cat big - >gate <>gate2) 2>/dev/null &
t 'a waiting writer does not delay a failed run' 1 timeout 300 \
    sh -c 'pzc -p2 <gate >/dev/full'
kill $!
wait $! 2>/dev/null

# Tests closed descriptors.
cp text x
t 'standard input closed' 1 sh -c 'pzc >out <&-'
t 'standard output closed' 1 sh -c 'pzc <text >&-'
t 'standard output closed, -dc' 1 sh -c 'pzc -dc four.gz >&-'
t 'standard output closed, nothing to write' 1 sh -c \
    'pzc </dev/null | pzc -d >&-'
t 'standard error closed' 0 sh -c 'pzc -vk x 2>&- && pzc -dc x.gz | cmp - text'
rm -f x.gz
t 'all closed, a file' 0 sh -c \
    'pzc -k x <&- >&- 2>&- && pzc -dc x.gz | cmp - text'
rm -f x.gz
t 'input closed, a file' 0 sh -c \
    'pzc -vk x <&- 2>err && pzc -dc x.gz | cmp - text'
t 'it has its name' 0 grep -aq x x.gz
rm -f x.gz
t 'all closed, -d' 0 sh -c 'pzc -k x; mv x.gz y.gz
    pzc -dv y.gz <&- >&- 2>&- && cmp y text'
t 'all closed, an error' 1 sh -c 'pzc nothing <&- >&- 2>&-'
t 'standard input write-only' 1 sh -c 'pzc 0>w'
t 'standard output read-only' 1 sh -c 'pzc <text 1<text'

# --verify
for f in $formats; do
	t "--verify, $f" 0 pzc --verify -kF "$f" text
done
t '--verify of an output that cannot be read back' 1 to out pzc --verify text -c

# Windows above 128 MiB are accepted only on request.
if have zstd; then
	# a window of 1 GiB, in a header built here: one raw block
	{ printf '\050\265\057\375\000\240\001\000\000'; } >w30.zst
	t 'zstd: a window of 1 GiB is refused' 1 pzc -dc w30.zst
	t 'zstd: it names --long' 0 sh -c 'pzc -dc w30.zst 2>&1 | grep -q -- --long'
	t 'zstd: with --long=30 it is read' 0 to back pzc -dc --long=30 w30.zst
	t 'zstd: 128 MiB is read' 0 sh -c \
	    "printf '\050\265\057\375\000\210\001\000\000' | pzc -d"
	t 'zstd: 256 MiB is not' 1 sh -c \
	    "printf '\050\265\057\375\000\220\001\000\000' | pzc -d"
fi
if have xz; then
	xz -c --lzma2=preset=0,dict=192MiB <text >w.xz
	t 'xz: a dictionary of 192 MiB is refused' 1 pzc -dcp1 w.xz
	t 'xz: with --long=28 it is read' 0 to back pzc -dcp1 --long=28 w.xz
	same 'xz: with --long=28, the bytes' back text
	xz -c --format=lzma --lzma1=preset=0,dict=192MiB <text >w.lzma
	t 'lzma: a dictionary of 192 MiB is refused' 1 pzc -dcp1 w.lzma
	t 'lzma: with --long=28 it is read' 0 to back \
	    pzc -dcp1 --long=28 w.lzma
fi

done_testing
