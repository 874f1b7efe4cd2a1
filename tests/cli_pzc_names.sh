# shellcheck shell=sh
# Tests names: suffixes, program names, odd bytes, -o, -S, -N, -n and -m.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 3000 >text
gone() { is "$1" "$(test -e "$2" && echo there)" ''; }
there() { is "$1" "$(test -e "$2" && echo there)" there; }

# Each format's suffix is added and removed.
for p in gzip:.gz zlib:.zz zip:.zip zstd:.zst lz4:.lz4 xz:.xz lzma:.lzma \
    bzip2:.bz2; do
	f=${p%%:*} s=${p#*:}
	cp text a
	t "$f adds $s" 0 pzc -F "$f" a
	gone "$f: the input went" a
	t "$f: $s again is left alone" 2 pzc -F "$f" "a$s"
	t "$f removes $s" 0 pzc -d "a$s"
	gone "$f: a$s went" "a$s"
	same "$f: the bytes" a text
done

# Tests combined suffixes and the suffixes of other programs.
for p in tgz:gzip:tar taz:gzip:tar tzst:zstd:tar txz:xz:tar tlz:lzma:tar \
    tbz2:bzip2:tar tbz:bzip2:tar; do
	s=${p%%:*} f=${p#*:} && f=${f%%:*}
	rm -f b.*
	pzc -F "$f" <text >"b.$s"
	t "b.$s is b.tar" 0 pzc -d "b.$s"
	same "b.$s: the bytes" b.tar text
done
for s in .z -gz -z _z; do
	rm -f b*
	pzc <text >"b$s"
	t "b$s is b" 0 pzc -d "b$s"
	same "b$s: the bytes" b text
done
rm -f b*

# The output's suffix selects the format.
for p in gz:1f8b zst:28b5 xz:fd37 bz2:425a lz4:0422 lzma:5d00 zip:504b; do
	t "-o c.${p%%:*}" 0 pzc -o "c.${p%%:*}" text
	is "-o c.${p%%:*}: its magic" \
	    "$(head -c 2 "c.${p%%:*}" | od -An -tx1 | tr -d ' \n')" "${p#*:}"
	there "-o keeps the input" text
	rm -f c.*
done
t '-F overrides the suffix of -o' 0 pzc -F xz -o c.gz text
t '... and xz reads it' 0 xz -t --format=xz --stdout -d c.gz
t '-o FILE that exists' 2 pzc -o c.gz text
t '-o with two inputs' 1 pzc -o d text text
t '-o - is standard output' 0 to d pzc -o - text
t '... which is gzip' 0 gzip -t <d
t '-o, decompressing' 0 pzc -d -o e d
same '-o, decompressing: the bytes' e text
mkdir dir
t '-o DIRECTORY' 2 pzc -o dir text
t '-f -o DIRECTORY' 1 pzc -f -o dir text
t '-o in no directory' 1 pzc -o no/such text
umask 027
pzc <text | cat | pzc -d -o f
is '-o of standard input: an ordinary mode' "$(stat -c %a f)" 640
umask 022
rm -f c.* d e f

# -S
cp text a
t '-S .foo' 0 pzc -S .foo a
there '-S .foo: its name' a.foo
t '-S .foo again' 2 pzc -S .foo a.foo
t '-d without -S' 2 pzc -d a.foo
t '-d -S .foo' 0 pzc -dS .foo a.foo
same '-S: the bytes' a text
t '-S with a slash' 1 pzc -S /x a
t '-S of nothing' 1 pzc -S '' a
t '--suffix=.foo' 0 pzc --suffix=.foo -k a
rm -f a.foo

# A name may consist of nothing but a suffix.
cp text .gz
t '.gz is compressed' 0 pzc -k .gz
there '.gz: as .gz.gz' .gz.gz
mv .gz.gz q.gz && rm .gz
pzc <text >.gz
t '-d .gz: no name remains' 2 pzc -d .gz
t '-d ./.gz: no name remains' 2 pzc -d ./.gz
there '.gz stays' .gz
rm -f .gz q.gz

# -N and -n: the stored name and time.
cp text orig
touch -d '2001-02-03 04:05:06.789 UTC' orig
pzc -c orig >stored.gz
is 'gzip finds the name' "$(gzip -lN stored.gz | awk 'NR == 2 { print $4 }')" \
    orig
is 'gzip finds the time' "$(od -An -tu4 -j4 -N4 stored.gz | tr -d ' ')" \
    "$(date -d '2001-02-03 04:05:06 UTC' +%s)"
rm orig
t '-dN uses the stored name' 0 pzc -dkN stored.gz
same '-dN: the bytes' orig text
is '-dN: the stored time' "$(stat -c %Y orig)" \
    "$(date -d '2001-02-03 04:05:06 UTC' +%s)"
t '-d does not' 0 pzc -dk stored.gz
there '-d: the name by the suffix' stored
pzc -nc orig >n.gz
t '-n: no name' 1 grep -aq orig n.gz
is '-n: no time' "$(od -An -tu4 -j4 -N4 n.gz | tr -d ' ')" 0
t '-n: gzip reads it' 0 gzip -t n.gz
pzc -mc orig >m.gz
is '-m: no time' "$(od -An -tu4 -j4 -N4 m.gz | tr -d ' ')" 0
t '-m: a name' 0 grep -aq orig m.gz
for o in --no-time -T; do
	pzc $o -c orig >T.gz
	same "$o is -m" T.gz m.gz
done
pzc --no-name -c orig >nn.gz
same '--no-name is -n' nn.gz n.gz
pzc -n -N -c orig >N.gz
same '-N after -n' N.gz stored.gz
rm -f ./*.gz stored orig

# A hostile name cannot leave the directory.  All files are gzip members with an
# FNAME field.
stored_as() {
	printf '\037\213\010\010\000\000\000\000\000\003%b\000' "$1"
	gzip -nc <text | tail -c +11
}
mkdir in
for n in ../up /abs/up x/../../up; do
	stored_as "$n" >in/h.gz
	t "-N of $n" 0 pzc -dkN in/h.gz
	same "-N of $n stays inside" in/up text
	rm -f in/*
done
for n in . .. x/ '' x/. x/..; do
	stored_as "$n" >in/h.gz
	t "-N of '$n'" 0 pzc -dkN in/h.gz
	same "-N of '$n' is by the suffix" in/h text
	rm -f in/*
done
# The stored name is the same as that of the compressed file: neither file may
# be lost.
stored_as h.gz >in/h.gz
t '-dN onto itself' 2 pzc -dN in/h.gz
t '-dN onto itself: kept' 0 gzip -t in/h.gz
t '-dfN onto itself' 1 pzc -dfN in/h.gz
t '-dfN onto itself: kept' 0 gzip -t in/h.gz
rm -rf in

# The program's names.
mkdir bin
for n in gzip gunzip zcat pigz unpigz unpzc pzcat pzc; do
	ln -s "$(command -v pzc)" bin/$n
done
cp text a
for p in gzip:gunzip pigz:unpigz pzc:unpzc; do
	t "${p%%:*} compresses" 0 "bin/${p%%:*}" a
	there "${p%%:*}: a.gz" a.gz
	t "${p#*:} decompresses" 0 "bin/${p#*:}" a.gz
	same "${p#*:}: the bytes" a text
done
for f in gzip zstd xz; do
	pzc -F $f -c a >z
	for n in zcat pzcat; do
		t "$n of $f" 0 to back bin/$n z
		same "$n of $f: the bytes" back text
	done
done
bin/gzip -9 <a | bin/zcat >back
same 'gzip and zcat as filters' back text
t 'the name is in messages' 0 sh -c \
    '! bin/gunzip nothing.gz 2>err && grep -q ^gunzip: err'
t 'and in the usage' 0 sh -c 'bin/unpzc -h | grep -q "^usage: unpzc "'

# The names of other programs are refused before anything is done; other names
# mean pzc.
pzc -F xz -c a >w.xz && cp w.xz w.keep
for n in pzstd pixz lzop lzip zip unzip compress uncompress; do
	ln -s "$(command -v pzc)" bin/$n
	t "$n is refused" 1 bin/$n w.xz
	shows "$n: why" "^$n: this is pzc, .* call it as 'pzc" .t.err
	t "$n -h is refused" 1 bin/$n -h
done
same 'a refused name keeps the input' w.xz w.keep
gone 'a refused name writes nothing' w.xz.gz
for n in my-pzc pzc-0.1; do
	ln -s "$(command -v pzc)" bin/$n
	t "$n is pzc" 0 bin/$n -k a
	t "$n wrote gzip" 0 gzip -t a.gz
	rm -f a.gz
done
rm -f w.*
rm -rf bin z a back

# Tests names with odd bytes.
newline=$(printf 'a\nb') latin=$(printf 'caf\351') bell=$(printf 'x\007y')
long=$(printf %0252d 0)
for n in "$newline" "$latin" "$bell" -dash --force 'a b' '*' "$long" \
    "\$(touch x)" "'"; do
	cp text "./$n"
	for f in gzip xz; do
		s=.gz && [ $f = gzip ] || s=.xz
		t "-F $f of an odd name" 0 pzc -F $f -- "$n"
		there "-F $f of an odd name: its name" "./$n$s"
		gone "-F $f of an odd name: the input went" "./$n"
		t "-d of an odd name ($f)" 0 pzc -d -- "$n$s"
		same "-d of an odd name ($f): the bytes" "./$n" text
	done
	rm -f "./$n"
done
longer=${long}abc
cp text "$longer"
t 'a name of 255 bytes has no room for a suffix' 1 pzc "$longer"
there 'it is kept' "$longer"
t 'with -c it is accepted' 0 to back.gz pzc -c "$longer"
rm -f "$longer"
t '-dN writes a whole name of 255 bytes' 0 pzc -dN back.gz
same 'with the same bytes' "$longer" text
rm -f "$longer"
# shellcheck disable=SC2016 # for the inner shell
t 'control characters do not reach the terminal' 0 sh -c \
    '! pzc "$1" 2>err && ! grep -q "$1" err' - "$bell"

# The name in a header is untrusted: it contains escape sequences and C1
# controls in UTF-8, and is shown in a warning, in a listing and at a terminal
# prompt.
cat >header.py <<'P'
import gzip, sys
with open("esc.gz", "wb") as f:
    name = b"n\x1b[31m\xc2\x9b32m\xc3\xa9\x9b"
    f.write(b"\x1f\x8b\x08\x08\0\0\0\0\0\x03" + name + b"\0" +
        gzip.compress(b"text\n")[10:])
with open(name, "wb") as f:
    f.write(b"old\n")
P
cat >prompt.py <<'P'
import os, pty, sys
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(tty, sys.argv[1].encode() + b"\n")
data = b""
try:
    while chunk := os.read(tty, 4096):
        data += chunk
except OSError:
    pass
sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
# clean FILE: whether it contains only printable characters, newlines and
# e-acute
clean() { ! tr -d '\r\n' <"$1" | sed 's/\xc3\xa9//g' | grep -q '[^ -~]'; }
# shellcheck disable=SC1003
safe='n\\033\[31m\\302\\23332m'
if have python3 && python3 header.py; then
	t 'a hostile name: a warning' 2 pzc -dN esc.gz
	shows '... : escaped' "$safe" .t.err
	t '... : clean' 0 clean .t.err
	t 'a hostile name: listed' 0 to out pzc -lN esc.gz
	shows '... : escaped' "$safe" out
	t '... : clean' 0 clean out
	t 'a hostile name: listed as JSON' 0 to out pzc -lN --json esc.gz
	shows '... : escaped' 'u001b.31m.u009b32m' out
	if python3 prompt.py y true >out 2>&1; then
		t 'a hostile name: the prompt, no' 2 to out \
		    python3 prompt.py n pzc -dN esc.gz
		shows '... : escaped' "$safe" out
		t '... : clean' 0 clean out
		t '... : yes' 0 to out python3 prompt.py y pzc -dkN esc.gz
		is '... : overwritten' "$(cat n*32m*)" text
	else
		skip 'no terminal can be opened'
	fi
	rm -f esc.gz n*32m*
else
	skip 'python3 is not installed'
fi

# -r
mkdir -p tree/sub/deep
for d in tree tree/sub tree/sub/deep; do cp text $d/f; done
cp text tree/other.xyz
ln -s /etc tree/link
t '-r descends into directories' 0 sh -c 'pzc -r tree || [ $? = 2 ]'
is '-r found all' "$(find tree -name '*.gz' | wc -l)" 4
t '-r again skips them silently' 0 sh -c \
    'pzc -r tree 2>err; ! grep -q suffix err'
is '-r again: no .gz.gz' "$(find tree -name '*.gz.gz' | wc -l)" 0
cp text tree/sub/plain
t '-dr skips what is not compressed' 0 sh -c 'pzc -dr tree 2>err
    ! grep -q plain err'
is '-dr found all' "$(find tree -name '*.gz' | wc -l)" 0
same '-dr: the bytes' tree/sub/deep/f text
t 'a directory without -r' 2 pzc tree
t '-r of a missing name' 1 pzc -r nothing
t '-r of a file' 0 pzc -r tree/f
t '-r of a link to a directory' 2 pzc -r tree/link
t '-r: a trailing slash' 2 pzc -dvr tree/
shows '... : is not doubled' '^pzc: tree/f\.gz: ' .t.err
rm -f tree/link && cp text tree/real && ln -s real tree/link
t '-r follows no link, -f or not' 2 pzc -rfk tree
is '... : nothing is created from it' "$(ls tree/link*)" tree/link
is '... : nor written' "$(pzc -rc tree 2>/dev/null | pzc -d | wc -c)" \
    "$(find tree -type f -exec cat {} + | wc -c)"
find tree -name '*.gz' -exec rm {} +
rm -f tree/link tree/real
if have python3 && python3 - 2>/dev/null <<'P'
import os
os.mkdir("deep")
os.chdir("deep")
for i in range(500):
    os.mkdir("directory%d" % (i % 7))
    os.chdir("directory%d" % (i % 7))
with open("bottom", "w") as f:
    f.write("deep\n")
P
then
	# a path too long for any system call, and more levels than descriptors
	t '-r, 500 levels down' 0 sh -c 'ulimit -n 100; pzc -r deep'
	is '... : found' "$(find deep -name 'bottom*' | sed 's|.*/||')" \
	    bottom.gz
	t '... : and back' 0 sh -c 'ulimit -n 100; pzc -dr deep'
	is '... : found' "$(find deep -name 'bottom*' -size -2 |
	    sed 's|.*/||')" bottom
	rm -rf deep
else
	skip 'there is no python3, or the depth is too great'
fi
t '-r with -o' 1 pzc -r -o x tree
is '-rc' "$(pzc -rc tree/sub | pzc -d | wc -c)" \
    "$(cat tree/sub/deep/f tree/sub/f tree/sub/plain | wc -c)"

done_testing
