# shellcheck shell=sh
# Tests the handling of files: modes, times, links, special files, and several
# files at a time.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 20000 >text
meta() { stat -c '%a %x %y' "$1"; }

# Mode and times are kept, to the nanosecond, in both directions and for each
# way of naming a file.
for mode in 600 640 444 755; do
	cp text m
	touch -a -d '2003-04-05 06:07:08.123456789 UTC' m
	touch -m -d '2002-03-04 05:06:07.987654321 UTC' m
	chmod $mode m
	want=$(meta m)
	pzc m
	is "mode $mode: kept" "$(meta m.gz)" "$want"
	pzc -dk m.gz
	is "mode $mode: back" "$(meta m)" "$want"
	rm -f m m.gz
done
cp text m && touch -d '2002-03-04 05:06:07.5 UTC' m && chmod 640 m
want=$(stat -c '%a %y' m)
pzc -o n.xz m
is '-o also keeps them' "$(stat -c '%a %y' n.xz)" "$want"
echo old >m.gz && chmod 777 m.gz
pzc -kf m
is '-f: the mode is that of the input'"'"'s' "$(stat -c '%a %y' m.gz)" "$want"
rm -f m m.gz n.xz
for d in 1901-01-01 1969-12-31 2200-01-01; do
	cp text m && touch -d "$d UTC" m
	t "a time of $d" 0 pzc -k m
	t "a time of $d: gzip reads it" 0 gzip -t m.gz
	is "a time of $d: kept" "$(stat -c %y m.gz)" "$(stat -c %y m)"
	rm -f m m.gz
done

if have setfattr && cp text m && setfattr -n user.color -v blue m 2>/dev/null
then
	pzc m
	is 'xattr: kept' "$(getfattr --only-values -n user.color m.gz)" blue
	pzc -d m.gz
	is 'xattr: back' "$(getfattr --only-values -n user.color m)" blue
else
	skip 'no extended attributes here'
fi
rm -f m m.gz
if have setfacl && cp text m && setfacl -m u:1:rx,g:2:w m 2>/dev/null; then
	getfacl -cn m >want
	pzc m
	getfacl -cn m.gz >got
	same 'ACL: kept' got want
	pzc -d m.gz
	getfacl -cn m >got
	same 'ACL: back' got want
else
	skip 'no access control lists here'
fi
rm -f m m.gz

# Anything other than a plain file is skipped.
left() { is "$1: left" "$(test -e "$2.gz" && echo made)" ''; }
cp text h && ln h h2
t 'a hard link' 2 pzc h
left 'a hard link' h
t 'a hard link with -k' 0 pzc -k h
rm h.gz
t 'a hard link with -c' 0 to out pzc -c h
t 'a hard link with -f' 0 pzc -f h
same 'a hard link with -f: the other is kept' h2 text
rm -f h.gz h2
for bits in 4755 2755 1644; do
	cp text s && chmod $bits s
	t "mode $bits" 2 pzc s
	left "mode $bits" s
	rm -f s
done
cp text real && ln -s real l
t 'a symbolic link' 2 pzc l
left 'a symbolic link' l
t 'a symbolic link with -k' 2 pzc -k l
t 'a symbolic link with -c' 0 sh -c 'pzc -c l | pzc -d | cmp - text'
t 'a symbolic link with -f' 0 pzc -f l
same 'a symbolic link with -f: its target is kept' real text
t 'a symbolic link with -f: compressed' 0 gzip -t l.gz
rm -f l l.gz
ln -s nowhere l
t 'a link to nowhere' 1 pzc -f l
t 'a link to itself' 1 sh -c 'ln -sf l l; pzc -f l'
rm -f l
# A special file can be an input: its writer may be late, and the file is not
# removed.
mkfifo p p.gz && chmod 640 p
t 'a FIFO does not block' 2 timeout 300 pzc p
t '-d: a FIFO does not block either' 2 timeout 300 pzc -d p.gz
t 'a FIFO in a tree is left alone, with any option' 2 sh -c 'mkdir r
    mkfifo r/p && timeout 300 pzc -rfk r'
rm -rf r p.gz
for o in -c -k -f '-f -o p.gz' '-o p.gz'; do
	rm -f p.gz
	(
		sleep 0.2
		cat text >p
	) &
	# shellcheck disable=SC2086
	t "$o reads a FIFO" 0 to out timeout 300 pzc $o p
	wait
	[ "$o" = -c ] || mv p.gz out
	t "$o reads a FIFO: the bytes" 0 sh -c 'pzc -dc <out | cmp - text'
	is "$o: the FIFO is kept" "$(stat -c %F p)" fifo
done
is 'the output is no more readable than the FIFO' "$(stat -c %a out)" 640
(cat text >p) &
pzc -k p
wait
(cat p.gz >p) &
t '-d -o reads a FIFO' 0 timeout 300 pzc -d -o back p
wait
same '-d -o reads a FIFO: the bytes' back text
rm -f p.gz
t 'a device' 2 pzc /dev/null
t '-c of a device' 0 sh -c 'pzc -c /dev/null | pzc -d | cmp - /dev/null'
t '-o of a device' 0 sh -c 'pzc -o n.gz /dev/null
    pzc -dc n.gz | cmp - /dev/null'
is '-o of a device: it is kept' "$(stat -c %F /dev/null)" \
    'character special file'

# Special files given with -o are written to directly.
t '-o to an existing FIFO, without -f' 2 pzc -o p text
cat p >out &
t '-f -o to a FIFO' 0 timeout 300 pzc -f -o p text
wait
t '-f -o to a FIFO: the bytes' 0 sh -c 'pzc -dc <out | cmp - text'
ln -s p pl
cat p >out &
t '-f -o to a link to a FIFO' 0 timeout 300 pzc -f -o pl text
wait
t '... : the bytes' 0 sh -c 'pzc -dc <out | cmp - text'
is '... : both stay' "$(stat -c %F p pl | tr '\n' ' ')" 'fifo symbolic link '
cat p >out &
t '--verify of a FIFO is refused' 1 timeout 300 pzc --verify -f -o p text
wait
ln -s /dev/null nl
t '-f -o to a link to a device' 0 pzc -f -o nl text
is '... : it is kept' "$(stat -Lc %F nl)" 'character special file'
is '/dev/stdout is standard output, a pipe' "$(pzc -f -o /dev/stdout text |
    pzc -dc | cmp - text && echo same)" same
echo head >out
pzc -nc text >n.gz
t '/dev/stdout is standard output, a file' 0 sh -c \
    'pzc -nf -o /dev/stdout text >>out'
t '... : written after what was there' 0 sh -c \
    '(echo head; cat n.gz) | cmp - out'
is '... : and it stays a link' "$(stat -c %F /dev/stdout)" 'symbolic link'
cp text back
t '/dev/stdin, for a file opened read-only' 1 sh -c \
    'pzc -nf -o /dev/stdin text <back'
same '... : the file is kept' back text
is '... : and it stays a link' "$(stat -c %F /dev/stdin)" 'symbolic link'
# special files are not overwritten if the output's name is derived from the
# input's
cp text d && mkfifo d.gz
t 'a FIFO under the name of the output, -f' 2 timeout 300 pzc -f d
rm d.gz && ln -s /dev/null d.gz
t 'a link to a device under that name, -f' 2 timeout 300 pzc -f d
same '... : the input is kept' d text
rm -rf d d.gz pl nl n.gz p
mkdir dir
t 'a directory' 2 pzc dir
t 'a directory, -c' 2 pzc -c dir
t 'a directory as output is kept' 2 sh -c 'cp text d; mkdir d.gz; pzc d'
t '... and with -f' 1 pzc -f d
same '... and the input' d text
# If an output is a link, the link is replaced, never its target.
cp text o && cp text precious && ln -s precious o.gz
t 'an output that is a link' 2 pzc o
t 'an output that is a link, -f' 0 pzc -f o
same 'the target is kept' precious text
is 'the link is a file now' "$(stat -c %F o.gz)" 'regular file'
rm -rf o o.gz d d.gz

# Tests outputs that are read while being written, or that are the input itself.
cp text same
t '-o onto the input' 2 pzc -o same same
same '-o onto the input: kept' same text
ln same same2 && ln -s same same3
for o in same same2 same3 ./same; do
	t "-f -o onto the input, $o" 1 pzc -f -o $o same
	same "-f -o onto the input, $o: kept" same text
	t "-f -o onto standard input, $o" 1 sh -c "pzc -f -o $o <same"
	same "-f -o onto standard input, $o: kept" same text
done
rm same2 same3

# An input that changes before it is removed is kept, even with -f.  The change
# is made while pzc is stopped in fsync.
stopped() {
	until grep -q '^State:.T' "/proc/$1/status"; do
		kill -0 "$1" || return 1
		sleep 0.05
	done
}
if have pzc-fault && [ -r /proc/self/status ]; then
	for o in -p1 -fp1; do
		for change in 'echo more >>grow' 'touch grow' \
		    'rm grow; echo new >grow' \
		    'tr 1 2 <text >grow; touch -r text grow'; do
			cp -p text grow
			COLDPRESS_FAULT=fsync:1:STOP pzc-fault $o grow 2>err &
			t "$o, $change: meanwhile" 0 stopped $!
			sh -c "$change"
			kill -CONT $!
			wait $!
			is "$o, $change: an error" $? 1
			is "$o, $change: kept" \
			    "$(test -s grow && echo kept)" kept
			t "$o, $change: no output" 1 test -e grow.gz
			rm -f grow grow.gz
		done
	done
else
	skip 'pzc cannot be made to wait'
fi

# For directories that are no longer open, -r returns to the parent through
# "..", but only if that is the original parent.
if have pzc-fault && [ -r /proc/self/status ]; then
	d=up/d i=0
	while [ $i -lt 100 ]; do
		d=$d/d i=$((i + 1))
	done
	mkdir -p "$d" && cp text "$d/f" && cp text up/z
	COLDPRESS_FAULT=fsync:1:STOP pzc-fault -r up 2>err &
	t 'a tree is moved: meanwhile' 0 stopped $!
	mv up/d elsewhere
	kill -CONT $!
	wait $!
	is 'a tree is moved: an error' $? 1
	shows '... : is reported' 'moved while being read' err
	same '... : the rest is left' up/z text
	is '... : the file is compressed in place' \
	    "$(find elsewhere -type f | sed 's|.*/||')" f.gz
	rm -rf up elsewhere
	# a directory that cannot be synced, as on some network filesystems
	cp text q
	t 'a directory that cannot be synced' 0 env \
	    COLDPRESS_FAULT=fsync:2:EINVAL pzc-fault q
	t '... : the output' 0 sh -c 'pzc -dc q.gz | cmp - text && [ ! -e q ]'
	rm -f q.gz
fi

# A FIFO is exchanged for a link before each of pzc's open calls in turn, and
# therefore also between the check and the open.
if have pzc-fault && [ -r /proc/self/status ]; then
	k=1 caught=0
	while :; do
		rm -f fifo was
		mkfifo fifo
		cp text precious
		exec 9<>fifo
		COLDPRESS_FAULT=openat:$k:STOP pzc-fault -f -o fifo text \
		    2>err 9>&- &
		stopped $! || break
		mv fifo was
		ln -s precious fifo
		kill -CONT $!
		wait $! || caught=$((caught + 1))
		cmp -s precious text || break
		k=$((k + 1))
		exec 9>&-
	done
	wait
	exec 9>&-
	same 'a FIFO exchanged for a link: its target is left' precious text
	is '... : one open in place is refused' $caught 1
	rm -f fifo was precious
else
	skip 'pzc cannot be made to wait'
fi

# With a single operand, pzc confines itself once all files are open, or reports
# why it cannot.  It also sets NoNewPrivs, even on a kernel without Landlock.
if have pzc-fault && [ -r /proc/self/status ]; then
	for o in -c -t -k '-o q.gz' -f; do
		cp text q && pzc -b 32 -kf q
		[ "$o" = -t ] || rm q.gz
		i=q
		[ "$o" != -t ] || i=q.gz
		# shellcheck disable=SC2086
		COLDPRESS_FAULT=thread:1:STOP pzc-fault -p2 -b 32 $o $i >out &
		t "$o of one file: meanwhile" 0 stopped $!
		t "$o of one file: confined" 0 grep -q '^NoNewPrivs:.1' \
		    "/proc/$!/status"
		kill -CONT $!
		wait $!
		is "$o of one file: succeeds" $? 0
		rm -f q q.gz
	done
fi
cp text q
t '-lvt of one file, which is confined' 0 sh -c \
    'pzc -kf q && pzc -lvt q.gz | grep -q 20[0-9][0-9]-'
rm -f q.gz
t '-v and --stats' 0 pzc -vk --stats=stats q
shows '... : not confined' 'q: not confined: statistics' .t.err
rm -f q q.gz stats

# Tests a directory that is writable but not readable, with files in it.
umask 022
mkdir dark && cp text dark/f && chmod 300 dark
dark() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		    --inh-caps=-all -- "$@"
	else
		"$@"
	fi
}
dark_tool=pzc
if [ "$(id -u)" = 0 ]; then
	chmod 755 . && cp -L "$(command -v pzc)" dark-pzc && chmod 755 dark-pzc
	chown -R 65534:65534 dark
	dark_tool=$PWD/dark-pzc
fi
if dark "$dark_tool" -V >/dev/null 2>&1; then
	t 'a directory of mode 300' 0 dark "$dark_tool" dark/f
	t '... : with -f, over a file' 0 sh -c 'cp text dark/f
	    chmod 644 dark/f'
	t '... : -fk' 0 dark "$dark_tool" -fk dark/f
	t '... : -df' 0 dark "$dark_tool" -df dark/f.gz
	chmod 700 dark
	same '... : the bytes' dark/f text
	is '... : nothing else' "$(ls -A dark)" f
else
	skip 'another user cannot enter this directory'
fi
rm -rf dark dark-pzc

# With few descriptors, -r reports an error for what it cannot open, and loses
# nothing.  Fewer than the loader needs are too few; others may be inherited.
least=4
until sh -c "ulimit -n $least; exec pzc -V" >.t.out 2>&1; do
	least=$((least + 1))
done
mkdir -p few/d && cp text few/a && cp text few/d/b
for n in $(seq $least $((least + 3))); do
	t "$n descriptors" 1 sh -c "ulimit -n $n; exec pzc -rf few"
	shows "$n descriptors: why" 'Too many open files' .t.err
	for f in a d/b; do
		t "$n descriptors: $f" 0 sh -c "test -e few/$f ||
		    pzc -dc few/$f.gz >few/$f"
		same "$n descriptors: the data of $f" few/$f text
		rm -f few/$f.gz
	done
done
rm -r few

# Four instances run on one file at the same time: one of them processes it, and
# no data is lost.
for f in '' -f; do
	for i in 1 2 3 4 5; do
		cp text q
		for _ in 1 2 3 4; do
			# shellcheck disable=SC2086
			pzc $f q 2>/dev/null &
		done
		wait
		t "four copies of pzc ($i)" 0 sh -c 'pzc -dc q.gz | cmp - text'
		is "four at once ($i): one file" "$(find . -name 'q*' -o -name '.c*' | wc -l)" 1
		for _ in 1 2 3 4; do
			# shellcheck disable=SC2086
			pzc -d $f q.gz 2>/dev/null &
		done
		wait
		same "four at once ($i): back" q text
		rm -f q q.gz
	done
done

done_testing
