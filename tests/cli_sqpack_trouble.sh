#!/bin/sh
# When files change, shrink, vanish or fail while sqpack reads them, when limits
# are exceeded, and when signals arrive at any moment, sqpack prints a message,
# and writes no image, or an image without these files.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have sqpack-fault || skip_all 'sqpack-fault is not built'

make_tree() {
	rm -rf tree
	mkdir -p tree/sub
	# the only link is read after everything has been listed
	ln -s nowhere tree/0-link
	seq 100000 >tree/large
	seq 100000 | tac >tree/other
	cp tree/other tree/sub/other-twin
	cp tree/large tree/sub/twin
	seq 300 >tree/small
	ln tree/large tree/sub/hard
	seq 200 >tree/sub/little
}

# stopped PLAN COMMAND...: runs the command as process $pid until the plan stops
# it
stopped() {
	COLDPRESS_FAULT=$1
	export COLDPRESS_FAULT
	shift
	"$@" 2>err &
	pid=$!
	unset COLDPRESS_FAULT
	s_tries=0
	until grep -q '^State:.T' /proc/$pid/status 2>/dev/null; do
		s_tries=$((s_tries + 1))
		[ $s_tries -lt 3000 ] || return 1
		sleep 0.1
	done
}

resume() {
	kill -s CONT "$pid"
	status=0
	wait "$pid" || status=$?
}

# rest DIR NAME...: lists all other files and links in DIR, with their contents
rest() {
	(
		cd "$1" || exit
		shift
		for r_name; do
			set -- "$@" ! -path "./$r_name"
			shift
		done
		find . "$@" -type l -printf '%P %l\n' -o -type f "$@" \
		    -exec cksum {} + | sort
	)
}

# trouble NAME PLAN CHANGE SENTENCE GONE...: makes CHANGE while sqpack is
# stopped by PLAN, and checks that an image made with -k does not contain the
# names GONE
trouble() {
	r_what=$1 r_plan=$2 r_change=$3 r_sentence=$4
	shift 4
	for k in '' -k; do
		make_tree
		rm -f image
		# shellcheck disable=SC2086
		stopped "$r_plan" sqpack-fault $k -p2 -b 4K -F lz4 -o image \
		    tree || not_ok "$r_what: it does not stop"
		eval "$r_change"
		resume
		is "$r_what: status $k" "$status" 1
		shows "$r_what: a message $k" "$r_sentence" err
		[ -n "$k" ] || t "$r_what: no image" 1 test -e image
	done
	rm -rf out
	t "$r_what: the image with -k is whole" 0 sqpack -x out image
	make_tree
	rest tree "$@" >want
	rest out >got
	same "$r_what: all other files are in it" got want
}

listed=readlinkat:1:STOP
within=pread:100:STOP
trouble 'a file goes' $listed 'rm tree/small' \
    'tree/small: No such file' small
trouble 'one name of a file goes' $listed 'rm tree/large' \
    'tree/large: No such file' large
trouble 'a file grows' $listed 'echo more >>tree/small' \
    'tree/small: changed while it was being read' small
trouble 'a file is overwritten' $listed 'seq 300 | tac >tree/small' \
    'tree/small: changed while it was being read' small
trouble 'a directory is in its place' $listed \
    'rm tree/small; mkdir tree/small' \
    'tree/small: changed while it was being read' small
trouble 'a link is in its place' $listed \
    'rm tree/small; ln -s /etc/passwd tree/small' 'tree/small: ' small
trouble 'a directory goes' $listed 'rm -r tree/sub' 'tree/sub: No such file' \
    sub/hard sub/little sub/other-twin sub/twin
trouble 'a file shrinks within its data' $within 'truncate -s 5000 tree/large' \
    'tree/large: changed while it was being read' large sub/hard
trouble 'a file grows within its data' $within 'echo more >>tree/large' \
    'tree/large: changed while it was being read' large sub/hard
trouble 'a file changes within its data' $within \
    'printf x | dd of=tree/large conv=notrunc 2>/dev/null' \
    'tree/large: changed while it was being read' large sub/hard

# A file that may be a duplicate is read twice: the second read fails.
for at in 100 200 300 400 500; do
	make_tree
	rm -f image
	t "an error at read $at" 1 env COLDPRESS_FAULT=pread:$at:EIO \
	    sqpack-fault -o image -b 4K -F lz4 tree
	shows 'is reported' 'tree/.*: Input/output error' .t.err
	t 'no image' 1 test -e image
	t "an error at read $at, -k" 1 env COLDPRESS_FAULT=pread:$at:EIO \
	    sqpack-fault -k -o image -b 4K -F lz4 tree
	gone=$(sed -n 's,^[^/]*tree/\(.*\): Input.*,\1,p' .t.err)
	rm -rf out
	t 'whatever exists is complete' 0 sqpack -x out image
	is 'and unchanged' "$(cd out && find . -type f |
	    while read -r f; do cmp "$f" "../tree/$f"; done 2>&1)" ''
	t 'the failed file does not exist' 1 test -e "out/$gone"
	is 'nor does its other name' \
	    "$(find tree -type f | wc -l)" \
	    "$(($(find out -type f | wc -l) + $(stat -c %h "tree/$gone")))"
done

# A write error is reported even after an error in the source.
t 'a full disk, -k' 1 env COLDPRESS_FAULT=readlinkat:1:EIO,write:5:ENOSPC \
    sqpack-fault -f -k -p2 -b 4K -F lz4 -o image.full tree
shows 'is reported' 'image.full: No space left' .t.err
t 'no image is created' 1 test -e image.full

# Tests a file size limit.
make_tree
t 'a file that exceeds the limit' 1 sh -c 'ulimit -f 100
    sqpack -F none -o long tree'
shows 'is reported' 'long: File too large' .t.err
t 'and does not exist' 1 test -e long
sqpack -f -F gzip -o image tree
rm -rf out
t '-x: files that exceed the limit' 1 sh -c 'ulimit -f 100; sqpack -x out image'
shows 'are reported' 'out/large: File too large' .t.err
t 'and do not exist' 1 test -e out/large
t 'nor under another name' 1 test -e out/sub/hard
same 'the others exist' out/small tree/small
same 'all of them' out/sub/little tree/sub/little
t '--cat' 1 sh -c 'ulimit -f 100; sqpack --cat large image >bytes'

# Existing files are replaced, never written to.
for f in '' -f; do
	rm -rf out precious
	mkdir out
	echo precious >precious
	ln precious out/large
	mkfifo out/small
	ln -s ../precious out/other
	# shellcheck disable=SC2086
	t "-x $f over other files" "$([ -n "$f" ] && echo 0 || echo 1)" \
	    sqpack -x out $f image
	is 'they are unchanged' "$(cat precious)" precious
	[ -z "$f" ] || for name in large small other; do
		same "and replaced: $name" out/$name tree/$name
	done
done

# Signals: the image is complete or does not exist.
sqpack -p2 -b 4K -F gzip -L 9 -o whole tree
bad=0
for sig in INT TERM HUP KILL; do
	for ms in 000 002 005 010 015 020 030 040 060 080 120; do
		rm -f image .coldpress-*
		sqpack -p2 -b 4K -F gzip -L 9 -o image tree 2>/dev/null &
		sleep 0.$ms
		kill -s $sig $! 2>/dev/null
		wait $! 2>/dev/null
		[ ! -e image ] || cmp -s image whole || bad=1
		! ls .coldpress-* >/dev/null 2>&1 || bad=1
	done
done
is 'killed at 44 moments: nothing or all of it' $bad 0
for plan in write:1 write:2 write:4 fsync:1 linkat:1 chmod:1; do
	for sig in TERM INT HUP; do
		rm -f image
		# without support for unnamed files
		COLDPRESS_FAULT=openat:2:EOPNOTSUPP,$plan:$sig sqpack-fault \
		    -p2 -b 4K -F lz4 -o image whole 2>/dev/null
		is "SIG$sig at $plan: leftovers" \
		    "$(ls image .coldpress-* 2>/dev/null)" ''
	done
done
done_testing
