# shellcheck shell=sh
# pull.sh - an image that is difficult to unpack; sourced by tests of --pull
# SPDX-License-Identifier: BSD-2-Clause
#
# The tests use the variables that are set here, and oci.sh's.

# pull_image: makes ./layout with the images t, which has a zstd layer, and g,
# which has none; ./tree is what they contain
pull_image() {
	mkdir -p one/keep one/opaque/sub one/dir-to-file one/dir-to-link \
	    one/twice one/attributes one/empty
	seq 200000 >one/text
	head -c 6000000 /dev/urandom >one/random
	echo gone >one/keep/gone
	echo stays >one/keep/stays
	echo old >one/opaque/old
	echo old >one/opaque/sub/old
	echo y >one/dir-to-file/y
	echo z >one/dir-to-link/z
	echo file >one/file-to-dir
	ln -s keep one/link-to-dir
	echo first >one/twice/first
	echo linked >one/name
	ln one/name one/keep/name
	ln -s /etc/passwd one/outside
	ln -s ../../.. one/keep/above
	ln -s nowhere one/dangling
	ln one/dangling one/dangling-too
	mkfifo one/fifo
	echo long >"one/$(printf %0255d 0)"
	image_deep=one/$(printf %090d 1)/$(printf %090d 2)/$(printf %090d 3)
	mkdir -p "$image_deep"
	echo deep >"$image_deep/file"
	echo mode >one/set-id
	chmod 4755 one/set-id
	echo mode >one/none
	chmod 0 one/none
	chmod 1777 one/empty
	chmod 0500 one/attributes
	: >one/nothing
	printf 'a\nb' >"$(printf 'one/new\nline')"
	printf x >"$(printf 'one/\377')"
	image_more one

	# whiteouts, which hide nothing of their own layer
	mkdir -p two/keep two/opaque/sub two/file-to-dir two/link-to-dir \
	    two/twice two/attributes
	: >two/keep/.wh.gone
	: >two/.wh.missing
	: >two/opaque/.wh..wh..opq
	echo new >two/opaque/new
	echo new >two/opaque/sub/new
	echo file >two/dir-to-file
	ln -s keep two/dir-to-link
	echo inside >two/file-to-dir/inside
	echo real >two/link-to-dir/real
	: >two/twice/.wh.first
	echo second >two/twice/second
	echo linked >two/name
	ln two/name two/third
	chmod 0700 two/attributes

	mkdir three four four/twice
	: >four/.wh.text
	echo again >four/twice/first
	echo other >four/random
	chmod 640 four/random
	image_times
	image_manifest t zstd
	image_manifest g gzip

	mkdir tree
	tar --xattrs -c --format=posix -C one . | image_tar
	rm -r tree/opaque tree/keep/gone tree/text tree/dir-to-file \
	    tree/dir-to-link tree/file-to-dir tree/link-to-dir \
	    tree/twice/first tree/random
	tar --xattrs -c --format=posix -C two --exclude '.wh.*' \
	    --exclude ./name --exclude ./third . | image_tar
	ln tree/name tree/third
	tar --xattrs -c --format=posix -C four --exclude '.wh.*' . |
	    image_tar
	! have setfattr || setfattr -x user.old tree/attributes 2>/dev/null || :
	image_clock tree
}

# image_tar: unpacks standard input over ./tree
image_tar() {
	tar --xattrs '--xattrs-include=*' -xp -C tree --numeric-owner
}

# image_manifest TAG FORMAT: adds the image, whose second layer has this format
image_manifest() {
	layers='' diffs=''
	layer one gzip
	# a hard link to a file of a lower layer: the file itself is left out
	tar --format=posix --xattrs --sort=name --numeric-owner \
	    -cf layer.tar -C two .
	tar --delete -f layer.tar ./name
	image_layer "$2"
	tar --format=posix -cf layer.tar -T /dev/null
	image_layer gzip
	layer four tar
	manifest "$1"
}

# image_more DIR: adds what only root can make
image_more() {
	[ "$(id -u)" = 0 ] || return 0
	mknod "$1/device" c 5 1
	mknod "$1/block" b 7 200
	chown 1234:4321 "$1/keep/stays" "$1/empty"
	chown -h 77:88 "$1/dangling"
	! have setfattr || {
		setfattr -n user.some -v value "$1/keep/stays"
		setfattr -n user.dir -v of-a-directory "$1/empty"
		setfattr -n trusted.t -v x "$image_deep"
		setfattr -n user.old -v is-replaced "$1/attributes"
	}
	! have setcap || setcap cap_net_raw+ep "$1/nothing"
}

# image_times: gives all names times of their own, with fractions
image_times() {
	image_n=0
	find one two three four -depth >names
	while IFS= read -r image_name; do
		image_n=$((image_n + 1))
		if [ -e "$image_name" ] || [ -L "$image_name" ]; then
			touch -h -d "@$((1000000000 + image_n * 1000)).25" \
			    "$image_name"
		fi
	done <names
}

# image_clock DIR: gives directories the times of the last layer that has them
image_clock() {
	for image_from in one two four; do
		(cd $image_from && find . -type d) | while IFS= read -r image_d; do
			[ ! -d "$1/$image_d" ] ||
			    touch -r "$image_from/$image_d" "$1/$image_d"
		done
	done
	touch -r one/name "$1/name"
}

# image_layer FORMAT: adds layer.tar as a layer
image_layer() {
	"$1" -c <layer.tar >layer.z
	diffs="$diffs,\"sha256:$(sha256sum <layer.tar | cut -d' ' -f1)\""
	layers="$layers,{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+$1\",$(blob layer.z)}"
}

# listing DIR: prints all names with everything about them
listing() {
	(cd "$1" || exit
	find . \( -type f -printf '%P\t%y\t%m\t%U:%G\t%T@\t%n\t%s\n' \) -o \
	    -printf '%P\t%y\t%m\t%U:%G\t%T@\t%n\t%l\n' | sed 's/\t1\t$/\t/' |
	    sed 's/^\([^\t]*\td\t.*\t\)[0-9]*\t$/\1/' | sort
	find . \( -type c -o -type b \) -exec stat -c '%n %t:%T' {} + | sort
	find . -type f -exec sha256sum {} + | sort
	! have getfattr || find . -print0 | sort -z |
	    xargs -0 getfattr -h -d -m - 2>/dev/null)
}
