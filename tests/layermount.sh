# shellcheck shell=sh
# layermount.sh - mount a layer from a server that may misbehave; sourced after
# lib.sh by root tests
# SPDX-License-Identifier: BSD-2-Clause
# layer.tar and the layer served/blob, at $url, contain tree/; the file want
# contains the output of `what tree`.
# shellcheck disable=SC2034

# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
have layerpack || skip_all 'no layerpack'

# A tree with small and large files, links and modes
mkdir -p tree/dir/sub tree/many served mnt
head -c 3000000 /dev/urandom >tree/big
seq 200000 >tree/dir/text
ln tree/dir/text tree/hard
ln -s dir/text tree/link
chmod 4755 tree/big
for i in $(seq 300); do echo "$i" >"tree/many/$i"; done
: >tree/empty
truncate -s 1M tree/sparse
mkfifo tree/fifo
tar --numeric-owner -cf layer.tar -C tree .
layerpack -F estargz -c 64K -o served/blob layer.tar >made 2>&1 ||
    skip_all 'layerpack writes no eStargz'

# what TREE: prints every file's name, attributes and contents
what() {
	(cd "$1" && find . ! -type d -printf '%p %y %m %U %G %s %n %l %T@\n' |
	    sed 's/\.[0-9]*$//' | LC_ALL=C sort
	find . -type d -printf '%p %m %n\n' | LC_ALL=C sort
	find . -type f -exec sha256sum {} + | LC_ALL=C sort)
}
what tree >want

serve_start
url=$site/blob
# start OPTION...: mounts the layers
start() { layermount --timeout 3 "$@" "$PWD/mnt"; }
mounted() { grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
unmounted() { ! mounted; }
# servers: prints the pids of a mount's processes
servers() { pgrep -f "^layermount .* $PWD/mnt\$" || :; }
no_servers() { [ -z "$(servers)" ]; }
stop() {
	umount mnt
	await unmounted
	await no_servers
}
trap 'umount -l mnt 2>/dev/null || :' EXIT
# field NAME: prints a field from the last line of stats
field() { tail -n 1 stats | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }

# hundred: reads 100 small files in parallel, and counts the reads that return
# the correct data, those that return EIO without any data, and all others
hundred() {
	rm -rf got.d
	mkdir got.d
	(
		for i in $(seq 100); do
			read_one "$i" >"got.d/$i.how" &
		done
		wait
	)
	cat got.d/*.how | sort | uniq -c | awk '{ printf "%s %s ", $2, $1 }'
}
read_one() {
	if cat "mnt/many/$1" >"got.d/$1" 2>"got.d/$1.err"; then
		cmp -s "got.d/$1" "tree/many/$1" && echo right || echo wrong
	elif [ -s "got.d/$1" ]; then
		echo wrong
	else
		grep -q 'Input/output error' "got.d/$1.err" && echo EIO ||
		    echo other
	fi
}
# large NAME: checks that reading a large file returns all of its data, or part
# of it and then EIO
large() {
	if cat mnt/big >got.big 2>err; then
		same "$1: a large file" got.big tree/big
	else
		t "$1: a large file: EIO" 0 grep -q 'Input/output error' err
		t "$1: no wrong byte" 0 cmp -n "$(wc -c <got.big)" got.big \
		    tree/big
	fi
}
# survived NAME [HOW]: checks that none of 100 reads returns wrong data, or that
# all end as given by HOW
survived() {
	s_from=$(date +%s) s_how=$(hundred)
	echo "# $1: ${s_how}in $(($(date +%s) - s_from)) s"
	if [ $# = 2 ]; then
		is "$1: 100 reads" "$s_how" "$2 100 "
	else
		is "$1: no byte is wrong" "$(echo "$s_how" |
		    grep -e wrong -e other)" ''
	fi
}
# watch_server: requests a byte again and again while the file reading exists;
# creates the file slow if a reply takes a third of --timeout, which is as long
# as layermount waits for one.  Without curl it does nothing.
watch_server() {
	have curl || return 0
	while [ -e reading ]; do
		curl -s -f --max-time 1 -r 0-0 -o one "$url" || : >slow
		sleep 0.1
	done
}
# recovered NAME: checks that each of 100 reads returns the correct data.  The
# reads are repeated if other work on this machine slows the server down.
recovered() {
	for r_try in 1 2 3 4 5; do
		rm -f slow
		: >reading
		watch_server &
		r_from=$(date +%s) r_how=$(hundred)
		rm reading
		wait $!
		echo "# $1: ${r_how}in $(($(date +%s) - r_from)) s"
		if [ "$r_how" = 'right 100 ' ] || [ ! -e slow ]; then
			break
		fi
		echo "# a reply took 1 s; try $r_try of 5"
	done
	is "$1: 100 reads" "$r_how" 'right 100 '
}
