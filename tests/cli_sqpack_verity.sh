#!/bin/sh
# Tests the hash tree of dm-verity behind an image: veritysetup accepts it, and
# coldwalk verifies an image by it.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have openssl || skip_all 'no openssl to make noise'
PATH=$PATH:/usr/sbin:/sbin
mkdir -p tree/sub
seq 60000 >tree/large
openssl enc -aes-128-ctr -K 0 -iv 0 -in tree/large >tree/noise 2>/dev/null
echo hi >tree/sub/small
touch -d @1600000000 tree tree/* tree/sub/small

# of NAME: the value that the last command printed under that name
of() { sed -n "s/^$1: //p" .t.out; }

mkdir empty
for from in tree empty; do
	t "$from: an image" 0 sqpack -f -q -F lz4 --verity -o image $from
	root=$(of 'root hash')
	at=$(of 'hash offset')
	cp .t.out said
	is 'its root hash has 64 digits' "${#root}" 64
	t 'the same once more' 0 sqpack -f -q -F lz4 -p 1 --verity -o again $from
	same 'bytes' image again
	same 'and hash' .t.out said
	t 'coldwalk verifies it' 0 coldwalk -q --summary --verity "$root" image
	t 'by another root hash' 1 coldwalk -q --verity \
	    "$(echo "$root" | tr 0-9a-f 1-9a-f0)" image
	shows 'it fails' 'does not .* h' .t.err
	if have veritysetup; then
		t 'veritysetup accepts it' 0 veritysetup verify \
		    --hash-offset="$at" image image "$root"
		to dump veritysetup dump --hash-offset="$at" again
		shows 'and describes it' 'Hash algorithm:.*sha256' dump
		# what it makes with this salt is the same
		salt=$(sed -n 's/^Salt:[[:space:]]*//p' dump)
		uuid=$(sed -n 's/^UUID:[[:space:]]*//p' dump)
		head -c "$at" image >plain
		t 'and makes the same' 0 veritysetup format --salt="$salt" \
		    --uuid="$uuid" --hash-offset="$at" plain plain
		same 'bytes' plain image
		# opened by the kernel, where it has the target
		name=sqpack-verity-$$
		if [ "$(id -u)" != 0 ] ||
		    ! dmsetup targets 2>/dev/null | grep -q '^verity'; then
			skip 'not root, or no dm-verity in this kernel'
		else
			t 'and opens it' 0 veritysetup open \
			    --hash-offset="$at" image $name image "$root"
			t 'its blocks are those of the image' 0 cmp \
			    -n "$at" "/dev/mapper/$name" image
			t 'closed' 0 veritysetup close $name
		fi
	else
		skip 'veritysetup is not installed'
	fi
done

sqpack -f -q -F lz4 --verity -o image tree >.t.out
root=$(of 'root hash')
at=$(of 'hash offset')
t 'other readers do not see it' 0 sqpack -l image
# each kind of damage: data, tables, the tree
for place in 150000 $((at - 4000)) $((at + 4100)) $((at + 8)); do
	cp image bad
	printf '\377' | dd of=bad bs=1 seek=$place conv=notrunc 2>/dev/null
	t "damage at $place" 1 coldwalk -q --summary --verity "$root" bad
done
cp image bad
printf '\377' | dd of=bad bs=1 seek=150000 conv=notrunc 2>/dev/null
t 'a block' 1 coldwalk -q --verity "$root" bad
shows 'is named' 'does not match the hash tree' .t.err
head -c $((at + 4096)) image >bad
t 'a tree that is cut off' 1 coldwalk -q --verity "$root" bad
shows 'is named' 'cut off' .t.err
head -c "$at" image >bad
t 'no tree' 1 coldwalk -q --verity "$root" bad
shows 'is named' 'no hash tree' .t.err
if have veritysetup; then
	# images of several methods and block sizes, each with a salt of its own
	for o in '-F zstd -b 4K' '-F gzip -b 16K' '-F lz4 -b 1M' '-F xz' \
	    '-F none'; do
		# shellcheck disable=SC2086
		sqpack -f -q $o --verity -o image tree >.t.out
		root=$(of 'root hash') at=$(of 'hash offset')
		t "$o: veritysetup accepts it" 0 veritysetup verify \
		    --hash-offset="$at" image image "$root"
		t "$o: coldwalk accepts it" 0 coldwalk -q --summary \
		    --verity "$root" image
		# one bit of the data, of the tables, of the tree
		for place in 400 $((at - 4090)) $((at + 4100)); do
			cp image bad
			byte=$(od -An -tu1 -j $place -N 1 bad)
			# shellcheck disable=SC2059
			printf "\\$(printf %03o $((byte ^ 16)))" | dd of=bad \
			    bs=1 seek=$place conv=notrunc 2>/dev/null
			t "$o: a bit at $place, veritysetup" 2 veritysetup \
			    verify --hash-offset="$at" bad bad "$root"
			t "$o: and coldwalk" 1 coldwalk -q --summary \
			    --verity "$root" bad
		done
	done
	# trees that veritysetup made, with other salts
	head -c "$at" image >plain
	# format OPTION...: makes bad, and sets root
	formatted() {
		cp plain bad
		root=$(veritysetup format "$@" --hash-offset="$at" bad bad \
		    2>/dev/null | sed -n 's/^Root hash:[[:space:]]*//p')
	}
	for salt in - 00ff "$(printf '%0512d' 7)"; do
		formatted --salt="$salt"
		t "salt $(echo "$salt" | head -c 9)" 0 coldwalk -q --summary \
		    --verity "$root" bad
	done
	# and what is not supported
	for o in --hash=sha512 --hash=sha1 --data-block-size=1024 \
	    --hash-block-size=1024 --format=0; do
		formatted $o
		t "$o" 1 coldwalk -q --verity "$root" bad
		shows 'is refused, with a reason' \
		    'not of version 1 with SHA-256\|not a root hash of 64' .t.err
		t 'and no file is read' 1 grep -q . .t.out
	done
else
	skip 'veritysetup is not installed'
fi
t 'no image' 1 coldwalk -q --verity "$root" tree/large
t 'no hash' 1 coldwalk -q --verity xyz image
shows 'it is said which' "'xyz' is not a root hash" .t.err
t 'without padding' 1 sqpack -q -F lz4 --verity --no-pad -o none tree
t 'is refused before' 1 test -e none
done_testing
