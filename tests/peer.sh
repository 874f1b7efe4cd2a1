# shellcheck shell=sh
# peer.sh - runs a command line with a program, then with pzc under the same
# name
# SPDX-License-Identifier: BSD-2-Clause
#
# fixture            a directory made by the test, copied for each LINE
# beside LINE        LINE, run by sh in such a copy, once with the program
#                    and once with pzc, ends with the same status, files and
#                    output; messages are not compared
# beside_said LINE   the same, but messages are compared too

# The program comes first in one PATH, pzc in another.
peers() {	# NAME...
	mkdir theirs ours
	for peers_name; do
		ln -s "$(command -v "$peers_name")" "theirs/$peers_name"
		ln -s "$(command -v pzc)" "ours/$peers_name"
	done
	peers_path=$PATH
}

# This prints names, types, modes, targets and times (of files); the functions
# below handle the files' contents
peer_tree() {
	find . -name . -o -type f -printf '%P %y %m %Ts\n' \
	    -o -printf '%P %y %m %l\n' | sort
}

peer_sums() { find . -type f -exec cksum {} + | sort; }

# Prints peer_content's line for each file whose checksums differ.
peer_contents() {
	comm -3 theirs.sums ours.sums | sed 's/.* //' | sort -u |
	    while read -r peer_file; do
		[ ! -e "$1.run/$peer_file" ] ||
		    echo "$peer_file $(peer_content <"$1.run/$peer_file")"
	done
}

# Prints a checksum of the content; compressed data is decompressed first.
peer_content() {
	cat >content
	if theirs/real -dc <content >plain 2>/dev/null; then
		echo "compressed $(cksum <plain)"
	else
		cksum <content
	fi
}

# peer_run WHO LINE: writes WHO.status, WHO.tree, WHO.out, WHO.err
peer_run() {
	rm -rf "$1.run"
	cp -a fixture "$1.run"
	(cd "$1.run" && PATH=$PWD/../$1:$peers_path &&
	    sh -c "$2" <a.gz >"../$1.raw" 2>"../$1.err"
	    echo $? >"../$1.status"
	    peer_tree >"../$1.tree"
	    peer_sums >"../$1.sums")
}

# Percentages depend on the size, which differs.
peer_words() {
	sed 's/-\{0,1\}[0-9.]*%/%/; s/  *%/ %/; s/\t/ /g' "$1.err"
}

peer_differ() {
	peer_what=
	for peer_part in status tree; do
		cmp -s "theirs.$peer_part" "ours.$peer_part" ||
		    peer_what="$peer_what $peer_part"
	done
	cmp -s theirs.sums ours.sums ||
	    [ "$(peer_contents theirs)" = "$(peer_contents ours)" ] ||
	    peer_what="$peer_what content"
	cmp -s theirs.raw ours.raw ||
	    [ "$(peer_content <theirs.raw)" = "$(peer_content <ours.raw)" ] ||
	    peer_what="$peer_what output"
}

beside() {
	peer_run theirs "$1"
	peer_run ours "$1"
	peer_differ
	if [ "${2-}" = said ]; then
		peer_words theirs >theirs.words
		peer_words ours >ours.words
		cmp -s theirs.words ours.words || peer_what="$peer_what err"
	fi
	if [ -z "$peer_what" ]; then
		ok "$1"
		return
	fi
	not_ok "$1"
	echo "# not the same:$peer_what"
	for peer_part in status tree raw err; do
		diff "theirs.$peer_part" "ours.$peer_part" | head -n 8 |
		    cut -c1-150 | sed "s/^/# $peer_part: /"
	done
}

beside_said() { beside "$1" said; }
