# shellcheck shell=sh
# Tests pigz's command line, the environment, exit statuses and terminals.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 40000 >text
says() {	# NAME PATTERN COMMAND...: it fails with a matching message
	says_name=$1 says_what=$2
	shift 2
	# shellcheck disable=SC2016 # for the inner shell
	t "$says_name" 0 sh -c 'what=$1; shift
	    "$@" >out 2>err; [ $? = 1 ] && grep -q "$what" err' - \
	    "$says_what" "$@"
}
# round OPTIONS...: checks that the output can be read again
round() {
	pzc "$@" <text >packed && pzc -d <packed | cmp -s - text
	is "pzc $*" $? 0
}

for o in -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -11 '--level 4' --level=12 --fast \
    --fast=3 --best '-b 128' -b64 '--blocksize 512' --blocksize=1024 -f \
    --force -H --huffman -U --rle -i --independent '-I 5' --iterations=5 \
    '-J 3' --maxsplits=3 -O --oneblock -m --no-time -M --time -n --no-name \
    -N --name '-p 2' -p1 --processes=3 '--processes 2' -q --quiet --silent \
    -R --rsyncable -T -Y --synchronous -z --zlib -K --zip '-A alias' \
    --alias=alias '-C comment' --comment=comment -k --keep -c --stdout \
    --to-stdout '-F zstd' --format=xz '-F bzip2 -5' '-F zstd -19' \
    '-F zstd -22 -b 64' '-F lz4 -12' '-F xz -0' '-F lzma -1' \
    '--memory 1G' --memory=512M '-F zstd --long' '-F zstd --long=24' \
    '--flush-ms 10' '-9Rp2' -1np2 '-kc9' -cqR; do
	# shellcheck disable=SC2086 # several words
	round $o
done
round -F xz -F zstd -F gzip
is 'the last -F counts' "$(pzc -F xz -F gzip <text | head -c 2 | od -An -tx1)" \
    ' 1f 8b'
pzc -1 -9 <text >a && pzc -9 <text >b
same 'the last level counts' a b
pzc -11 <text >a && pzc --level=11 <text >b
same '-11 is level 11' a b
pzc -1 -1 <text >a && pzc -1 <text >b
same '-1 -1 is level 1' a b
cp text f && pzc -kc f -11 >a && pzc -kc -11 f >b
same '-11 after a name is level 11' a b
pzc -c f -T >a && pzc -T -c f >b
same '-T after a name' a b
pzc -cT -- f >b
same '-cT' a b

# Modes override each other as in pigz and gzip.
pzc <text >t.gz && cp t.gz keep.gz
for o in -t --test -dt -td '-t -d' '-d -t'; do
	# shellcheck disable=SC2086
	t "$o tests" 0 pzc $o t.gz
	same "$o leaves the file" t.gz keep.gz
	is "$o makes nothing" "$(test -e t && echo made)" ''
done
t '--decompress' 0 pzc --decompress --keep t.gz
same '--decompress: the bytes' t text
t '--uncompress' 0 to back pzc --uncompress --stdout t.gz
same '--uncompress: the bytes' back text
t '-dc of several' 0 to back pzc -dc t.gz t.gz
cat text text >want
same '-dc of several: the bytes' back want
t 'the same through -' 0 sh -c 'pzc -dc t.gz - <t.gz | cmp - want'

# -F does not override the actual format of the stream.
t '-d -F xz of gzip' 0 to back pzc -d -F xz <t.gz
same '-d -F xz of gzip: the bytes' back text
is '-l -F xz of gzip' "$(pzc -lq -F xz t.gz | awk '{ print $1 }')" gzip
for f in gzip zlib zip zstd lz4 xz bzip2; do
	says "-d -F $f of text" 'not in a known format' pzc -dc -F $f text
	says "-l -F $f of text" 'not in a known format' pzc -l -F $f text
done

# A frame that names its dictionary: zstd's and lz4's headers are made here.
printf '\050\265\057\375\043\071\060\000\000\000\001\000\000' >dict.zst
printf '\004\042\115\030\141\100\071\060\000\000\107\000\000\000\000' \
    >dict.lz4
for f in dict.zst dict.lz4; do
	says "$f: its dictionary" "$f: needs the dictionary with ID 12345;" \
	    pzc -t $f
done

# Rejected, with a message.
says '-T 4 names -p' 'use -p' pzc -T 4
says '-kT0, too' 'use -p' pzc -kT0
for o in -T4 -T0 -p0 --threads=0 -M100M -M50% --memlimit=100M; do
	pzc $o -c text >a && pzc -c text >b
	same "$o is taken" a b
	pzc -c text $o >a
	same "$o after a name, too" a b
done
cp text removed
t '--rm' 0 pzc -k --rm removed
t '--rm removes the input' 1 test -e removed
rm removed.gz
says '-F first' 'not pigz' pzc -F first
says 'an unknown format' 'unknown format' pzc -F rar
says 'an unknown format: the known ones' 'gzip, .*bzip2' pzc -F zz
for p in gz:gzip zst:zstd bz2:bzip2; do
	pzc -F "${p%:*}" <text >a && pzc -F "${p#*:}" <text >b
	same "-F ${p%:*} is -F ${p#*:}" a b
done
pzc -F xz --threads=2 -6e <text >a && pzc -F xz -p2 --extreme <text >b
same '-6e is --extreme' a b
pzc -F xz -6 <text >b
t '-e changes the search' 1 cmp -s a b
pzc -F lzma -e <text | pzc -d >back
same '-F lzma -e: the bytes' back text
says '-e of zstd' 'xz' pzc -F zstd -e
round -F zstd --ultra -20
says 'a level that gzip does not have' level pzc -13
says 'a level that no format has' level pzc -99999999999
says 'a level that bzip2 does not have' level pzc -F bzip2 -0
says 'a level that is not a number' number pzc --level x
says 'an empty level' number pzc --level=
says '-kM50% names --memory' 'use --memory' pzc -kM50% text
says '-M of too much' 'percentage' pzc -M101% text
pzc -M9c text >a && pzc -M -9 -c text >b
same '-M9 is -M -9' a b
for f in zstd lz4; do
	round -F $f --fast=5
	t "--fast=20 of $f" 0 to a pzc -F $f --fast=20 <text
	pzc -F $f -1 <text >b
	t "--fast=20 of $f is another level" 1 cmp -s a b
	says "--fast=0 of $f" "$f level 0" pzc -F $f --fast=0 text
	pzc -F $f --fast <text >a && pzc -F $f -1 <text >b
	same "--fast of $f is -1" a b
	pzc -F $f --fast=5 -3 <text >a && pzc -F $f -3 <text >b
	same "--fast=5 -3 of $f is -3" a b
done
says '-p of a word' number pzc -p many
says '-p out of range' 'not in' pzc -p 99999999999999999999
says '-b 0' 'not in' pzc -b 0
says '--memory of a word' number pzc --memory much
says '--memory too small' memory pzc --memory 1K
says '--long=99' 'not in' pzc --long=99
for o in '-R' '--adapt' '--flush-ms 5'; do
	# shellcheck disable=SC2086 # an option may have a value
	says "--slice $o" "slice cannot be combined with ${o%% *}" \
	    pzc --slice 1/2 $o -c text
done
says '--slice of two' 'only one input' pzc --slice 1/2 -c text t.gz
says '--slice -r' 'only one input' pzc --slice 1/2 -rc .
says '--slice without an output' "output's name" pzc --slice 1/2 text
is '--slice without an output: the input' "$(test -s text && echo kept)" kept
t '--slice -o' 0 pzc --slice 1/1 -o slice.gz text
same '--slice -o: the input is kept' text back
t '--slice -o: the bytes' 0 sh -c 'pzc -dc slice.gz | cmp - text'
says '--slice of a pipe' 'regular file' sh -c 'cat text | pzc --slice 1/2'
says 'an unknown option' "Try 'pzc --help'" pzc --nonsense
says 'a mistyped option' level pzc --levle=3
pzc -F xz --no-check <text >a && pzc -F xz --check=none <text >b
same '--no-check is --check=none' a b
says '--no-check of zstd' '^pzc: --no-check .*only with xz' \
    pzc -F zst --no-check
says '--check of zstd' '^pzc: --check .*only with xz' \
    pzc -F zst --no-check --check=crc32
says 'an unknown letter' "Try 'pzc --help'" pzc -Z
says 'a missing value' "Try 'pzc --help'" pzc -p
says 'no such file' 'No such file' pzc nothing
says '-d of text' 'not in a known format' pzc -d <text
says '-d of nothing' 'end of file' pzc -d </dev/null
says '-t of text' 'format' pzc -t text
says 'a directory as input' directory pzc </

# With several inputs, the worst status is returned, and all other inputs are
# still processed.
cp text x && cp text y
t 'an error, a warning and two that work' 1 pzc -k x nothing t.gz y
t 'x was compressed' 0 gzip -t x.gz
t 'y was done' 0 gzip -t y.gz
t 'a warning' 2 pzc -k x
t 'a warning under -q' 2 pzc -qk x
is '-q: silent' "$(pzc -qk x 2>&1)" ''
t '-f overwrites' 0 pzc -kf x
is 'silence on success' "$(pzc -kf x 2>&1)" ''

# -k, -f, -c
cp text k
t '-c keeps' 0 to k.out pzc -c k
t '-k keeps' 0 pzc -k k
same '-k: kept' k text
t 'not without -f' 2 pzc k
same 'not without -f: kept' k text
t '-f replaces' 0 pzc -f k
is '-f: the input went' "$(test -e k && echo there)" ''
t '-dcf copies what is not compressed' 0 to back pzc -dcf text
same '-dcf: the bytes' back text
t 'pzcat -f copies standard input' 0 sh -c 'pzcat -f <text | cmp - text'
t '-dc does not' 1 pzc -dc text
pzc -F zstd <text >damaged.zst
printf '\0' | dd of=damaged.zst bs=1 conv=notrunc 2>dd.err
for o in -df -tf -tcf -t; do
	says "$o of text on standard input" 'not in a known format' \
	    sh -c "pzc $o <text"
	says "$o: a damaged magic number" 'not in a known format' \
	    sh -c "pzc $o <damaged.zst"
done
says '-tcf of a file' 'not in a known format' pzc -tcf text
pzc -df <text >back 2>err
is '-df of text: nothing is written' "$(wc -c <back)" 0

# Help and version.
for o in -h --help -V --version -L --license; do
	t "$o" 0 pzc $o
	is "$o prints something" "$(pzc $o | head -c 1 | wc -c)" 1
	t "$o to a full disk" 1 to /dev/full pzc $o
done
t '-V names the libraries' 0 sh -c 'pzc -V | grep -q "zstd  *[0-9]"'

# The environment may contain only options; the command line comes last.
PZC='-p 2 -9' pzc <text >a && pzc -9 <text >b
same 'PZC="-p 2 -9"' a b
for v in GZIP PIGZ; do
	t "$v is not read" 0 to a env $v=-d pzc <text
	pzc <text >b
	same "$v is not read: the bytes" a b
done
PZC='-F zstd' pzc <text >a && pzc -F zstd <text >b
same 'PZC="-F zstd"' a b
PZC='-F zstd' pzc -d <t.gz >back
same 'PZC="-F zstd" reads gzip' back text
PZC='-1' pzc -9 <text >a && pzc -9 <text >b
same 'the command line takes precedence' a b
says 'PZC=file' 'only options' env PZC=text pzc
says 'PZC=-- file' 'only options' env PZC='-- text' pzc
t 'PZC=blanks' 0 env PZC='   ' pzc -c text
says 'PZC=-Z' "Try 'pzc --help'" env PZC=-Z pzc

# --memory lowers the number of threads without changing the output.
pzc -p8 <text >a && pzc -p8 --memory 24M <text >b
same '--memory: the same bytes' a b
cat text text text text text text text text >large
pzc -p8 --stats=s.json --memory 12M <large >/dev/null
is '--memory: fewer threads' \
    "$(sed -n 's/.*"threads":\([0-9]*\).*/\1/p' s.json | awk '{
	print ($1 < 8 && $1 >= 1) ? "fewer" : $1 }')" fewer
# zstd's contexts need more memory at level 12 than at level 13, so two do not
# fit.
pzc -F zstd -12 -p2 --stats=z.json --memory 180M <text >/dev/null
is '--memory: what zstd -12 needs' \
    "$(sed -n 's/.*"threads":\([0-9]*\).*/\1/p' z.json)" 1
says '--memory below one thread' 'memory' pzc -F xz -9 --memory 8M large
is '--memory: nothing is created' "$(test -e large.xz && echo made)" ''

# Compressed data is neither written to nor read from a terminal, except with
# -f.
if have script; then
	pty() { script -qec "$1" /dev/null </dev/null >tty.out 2>&1; }
	pty 'pzc <text'
	is 'not to a terminal' $? 1
	t 'not to a terminal: the reason' 0 grep -q 'terminal' tty.out
	pty 'pzc -c text'
	is '-c: not to a terminal' $? 1
	pty 'pzc -f <text >/dev/null'
	is '-f' $? 0
	pty 'pzc -cf x'
	is '-f: to a terminal' $? 0
	pty 'pzc -dc t.gz'
	is '-dc to a terminal' $? 0
	pty 'pzc -d'
	is '-d not from a terminal' $? 1
	cp text tt && : >tt.gz
	script -qec 'pzc tt' /dev/null <<-A >tty.out 2>&1
	n
	A
	is 'answered no: a warning' $? 2
	is 'answered no: kept' "$(wc -c <tt.gz)" 0
	(sleep 1; echo y) | script -qec 'pzc tt' /dev/null >tty.out 2>&1
	is 'answered yes' $? 0
	t 'answered yes: replaced' 0 gzip -t tt.gz
else
	skip 'script(1) is not installed'
fi

done_testing
