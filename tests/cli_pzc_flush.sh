#!/bin/sh
# In an interactive pipe, data arrives while the sender waits for a reply.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# live FORMAT: sends three lines, each after the previous line has arrived at
# the other end.  Each reply has its own FIFO.  With only one, the sender could
# open it for the second reply while the first reply's writer still has it open,
# and read end of file.
cat >live <<'EOF'
format=$1
rm -f first second
mkfifo first second
{
	echo one
	read -r _ <first
	echo two
	read -r _ <second
	echo three
} | pzc -F "$format" --flush-ms 20 | tee "out.$format" | pzc -d --flush-ms 20 | {
	read -r a
	echo go >first
	read -r b
	echo go >second
	read -r c
	[ "$a $b $c" = 'one two three' ]
}
EOF
t 'gzip is flushed' 0 timeout 300 sh live gzip
t 'zstd is flushed' 0 timeout 300 sh live zstd

t 'a flushed stream is plain gzip' 0 gzip -t <out.gzip
is 'and whole' "$(gzip -dc <out.gzip | tr '\n' ' ')" 'one two three '
t 'xz refuses' 1 pzc -F xz --flush-ms 20 -c out.gzip
done_testing
