#!/bin/sh
# mailgen always generates the same bytes, with the requested sizes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mailgen || skip_all 'no mailgen'

# hash DIRECTORY: prints the hash, computed as described in the manual
hash() {
	(cd "$1" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort |
	    tr '\n' '\0' | xargs -0 sha256sum) | sha256sum | cut -d ' ' -f 1
}

# stat NAME FILE: prints a figure from --stats
stat_of() { sed "s/.*\"$1\":\"*\\([0-9a-f.]*\\).*/\\1/" "$2"; }

# near NAME VALUE WANT PERCENT
near() {
	is "$1 ($2)" "$(awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN {
	    d = a - b; print ((d < 0 ? -d : d) * 100 <= b * p) }')" 1
}

to out mailgen -n 700 --stats=stats one
is 'the bytes do not change' "$(cut -d ' ' -f 1 out)" \
    c54b32a6f32e6d1a6af582a58c6816f74884935483baffa33ab6f2b73a906b84
is 'the hash is that of the files' "$(hash one)" "$(cut -d ' ' -f 1 out)"
is 'one file per message' "$(find one -type f | wc -l)" 700
is 'and as many in the figures' "$(stat_of mails stats)" 700
is 'with the hash' "$(stat_of sha256 stats)" "$(cut -d ' ' -f 1 out)"
is 'and the bytes' "$(stat_of bytes_B stats)" \
    "$(find one -type f -exec cat {} + | wc -c)"

to out mailgen -n 700 --processes 1 alone
t 'the same with one thread' 0 diff -r one alone
mkdir empty
to out mailgen -n 700 --threads 7 empty
t 'and by seven, in an empty directory' 0 diff -r one empty
rm -r alone empty
to out mailgen -n 300 fewer
mkdir both
cp -R fewer/. both
cp -R one/. both
t 'a smaller corpus is a prefix' 0 diff -r one both
rm -r both
to out mailgen -n 300 -s 2 other
is 'another seed is another corpus' "$(cmp -s \
    fewer/01-*/2021-01-04/001 other/01-*/2021-01-04/001; echo $?)" 1
rm -r fewer other

# ordered DIRECTORY: whether the files' times increase in name order
ordered() {
	for f in "$1"/*; do
		stat -c %Y "$f"
	done >arrived
	sort -n -u arrived | cmp -s - arrived
}
t 'dates in the order of names' 0 ordered "$(echo one/01-*/2021-01-04)"
f=$(echo one/02-*/2021-01-11/001)
is "a file's time is the delivery time" "$(stat -c %Y "$f")" \
    "$(date -d "$(sed -n '/^\tby mail.home/{n;s/^\t//p;q}' "$f" | grep . ||
	sed -n 's/^Date: //p' "$f")" +%s | awk -v t="$(stat -c %Y "$f")" '{
	d = $1 - t; print ((d >= 0 && d < 60) ? t : $1) }')"
for what in '^Received: from' '^DKIM-Signature:' '^ARC-Seal:' '^> ' '^-- $' \
    '^Content-Transfer-Encoding: quoted-printable' '^List-Id:' \
    '^Content-Transfer-Encoding: 8bit' 'charset=iso-8859-1' 'charset=utf-8' \
    '^Content-Type: multipart/mixed' '^Content-Type: text/html' \
    '^Content-Transfer-Encoding: base64' '^In-Reply-To:' '^References:'; do
	t "there is $what" 0 grep -q -a -r -e "$what" one
done
is 'some came through two' "$(grep -a -h -r -i '^Message-ID:' one | sort |
    uniq -d | grep -c . | awk '{ print ($1 > 0) }')" 1
is 'most through one' "$(grep -a -h -r -i '^Message-ID:' one | sort -u | wc -l |
    awk '{ print ($1 > 650) }')" 1

to out mailgen -n 700 --mbox --stats=stats.mbox box
is 'mboxes do not change' "$(cut -d ' ' -f 1 out)" 3a1f9b233f34b48be8c0156c9b58847ae8a7555a33c3e844ca9fb1a6d1be28a9
is 'their hash is that of the files' "$(hash box)" "$(cut -d ' ' -f 1 out)"
is 'they hold the same messages' "$(stat_of bytes_B stats.mbox)" \
    "$(stat_of bytes_B stats)"
is 'each after its From line' "$(cat box/*/*.mbox | grep -a -c \
    '^From [^ ]*@[^ ]* ')" 700
to out mailgen -n 700 --maildir dir
is 'maildirs do not change' "$(cut -d ' ' -f 1 out)" e7f0807d16d54065f50a6d00d8b5c5deb9715794e98349217f2c036c76b2e1ae
is 'also their hash' "$(hash dir)" "$(cut -d ' ' -f 1 out)"
is 'with cur, new and tmp' "$(find dir -mindepth 3 -type d | sed 's,.*/,,' |
    sort -u | tr '\n' ' ')" 'cur new tmp '
is 'new mail has no flags' "$(find dir -path '*/new/*' -name '*:2,*')" ''
is 'other mail has flags' "$(find dir -path '*/cur/*' ! -name '*:2,*')" ''
find one -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort >a
find dir -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort >b
same 'the same messages' a b
rm -r box dir

to out mailgen -n 5000 --stats=stats.big big
near 'mean' "$(stat_of mean_B stats.big)" 8000 5
near 'median' "$(stat_of median_B stats.big)" 1720 5
is 'densest kilobyte' "$(stat_of densest_KiB stats.big)" 1
tar -C big --sort=name -cf big.tar .
near 'as one tar through gzip -6' "$(gzip -6 <big.tar | wc -c | awk \
    -v n="$(wc -c <big.tar)" '{ print n / $1 }')" 3.5 6
if have fsratio; then
	fsratio --csv --fs zfs-fuse --ashift 9 -a gzip-6 big >rows
	is 'fsratio reads it' "$(grep -c '^[^#].*gzip-6' rows)" 1
fi
rm -r big big.tar

to out mailgen -n 2000 --mean 3K --median 900 --stats=stats.sized sized
near 'a mean that is asked for' "$(stat_of mean_B stats.sized)" 3072 5
near 'and a median' "$(stat_of median_B stats.sized)" 900 5
to out mailgen -n 500 --attachments 0 plain
is 'no attachments' "$(grep -a -r -l '^Content-Disposition' plain | wc -l)" 0
to out mailgen -n 500 --attachments 1 rich
is 'attachments everywhere' "$(find rich -type f | wc -l)" \
    "$(grep -a -r -l '^Content-Disposition' rich | wc -l)"
t 'one message' 0 mailgen -n 1 single
rm -r sized plain rich

# wrong WORDS COMMAND...: checks that it is rejected, with a message that
# contains WORDS
wrong() {
	w_words=$1
	shift
	t "refused: $*" 1 "$@"
	is "because: $w_words" "$(grep -c -e "$w_words" .t.err)" 1
}
wrong 'one: Directory not empty' mailgen -n 5 one
wrong 'nowhere/x: No such file' mailgen -n 5 nowhere/x
wrong 'stats: Not a directory' mailgen -n 5 stats
wrong 'usage: ' mailgen
wrong 'usage: ' mailgen a b
wrong 'messages .0. is not' mailgen -n 0 x
wrong 'messages .many. is not' mailgen -n many x
wrong 'seed .-1. is not' mailgen -s -1 x
wrong 'threads .0. is not' mailgen -p 0 x
wrong 'mean .12. is not' mailgen --mean 12 x
wrong 'median .65M. is not' mailgen --median 65M x
wrong 'has the mean 1000 and the median 5000' mailgen --mean 1000 \
    --median 5000 x
wrong 'attachments .2. is not' mailgen --attachments 2 x
wrong 'nothing: No such file' mailgen --like nothing x
echo 'sizes 3' >bad
wrong 'bad: line 1 is invalid' mailgen --like bad x
printf 'repeat 5\nsize 0 500\n' >bad
wrong 'bad: line 2 is invalid' mailgen --like bad x
# without a limit, a thousand messages of that size would be generated again and
# again
mkdir large
seq 1200000 >large/mail
t 'a profile of large mail ends' 0 to profile mailgen --profile large
line=$(grep -n ^size profile | sed -n '3s/:.*//p')
for e in 's/^size [0-9]* /size 77 /' 's/ [0-9]*$/ 1/' 's/ [0-9]*$/ x/' \
    's/^size/sise/' 's/ .*//'; do
	sed "${line}$e" profile >bad
	wrong "bad: line $line is invalid" mailgen --like bad x
done
sed "${line}d" profile >bad
t 'a size is missing' 1 mailgen --like bad x
wrong 'nowhere: No such file' mailgen --profile nowhere
mkdir bare
wrong 'bare: contains no mail' mailgen --profile bare
t 'nothing was made' 1 test -e x
t 'help' 0 mailgen -h
t 'version' 0 mailgen -V

if [ -e /dev/full ]; then
	t 'the hash cannot be printed' 1 \
	    sh -c 'mailgen -n 2 printed >/dev/full'
fi
if have mailgen-fault; then
	wrong 'No space left' env COLDPRESS_FAULT=write:400:ENOSPC \
	    mailgen-fault -n 700 full
	is 'the partial corpus is reported' \
	    "$(grep -c 'full contains only part' .t.err)" 1
	is 'and no file in it is truncated' "$(cd full &&
	    find . -type f | while read -r f; do
		cmp -s "$f" "../one/$f" || echo "$f"
	    done)" ''
	wrong 'not enough memory' env COLDPRESS_FAULT=malloc:9:ENOMEM \
	    mailgen-fault -n 700 memory
	t 'thread 2 cannot be created' 1 env COLDPRESS_FAULT=thread:1:EAGAIN \
	    mailgen-fault -n 700 -p 2 threads
	t 'thread 3 cannot be created' 1 \
	    env COLDPRESS_FAULT=thread:2:EAGAIN mailgen-fault -n 700 -p 3 two
	is 'the corpus is reported, not a file in it' "$(head -n 1 .t.err)" \
	    'mailgen-fault: two: Resource temporarily unavailable'
else
	skip 'no mailgen-fault'
fi
if [ "$(id -u)" != 0 ]; then
	mkdir shut
	chmod 500 shut
	wrong 'Permission denied' mailgen -n 5 shut
else
	skip 'root may write anywhere'
fi
done_testing
