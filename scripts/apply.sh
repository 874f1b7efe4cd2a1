# shellcheck shell=sh
# apply.sh - coldpress apply: does what a proposal says; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# An original is removed only after the result has been decompressed and
# compared, and only where it is replaced: a file by a compressed one.  A tree
# stays.  A stopped apply is continued by typing it again.

# result_room DIRECTORY: exits unless the result surely fits beside the originals
result_room() { room "$1" "${most%.*}" 'the result'; }

# recompress FILE: replaces a gzip or bzip2 file by one in the proposal's format
recompress() {
	recompress_to=${1%.gz} recompress_to=${recompress_to%.bz2}
	recompress_to=${recompress_to%.Z}
	case $recompress_to in
	*.tgz | *.tbz2 | *.taz) recompress_to=${recompress_to%.*}.tar ;;
	esac
	recompress_to=$recompress_to.$(suffix_of "$format")
	[ ! -e "$recompress_to" ] || {
		say "$recompress_to exists: $1 is left as it is"
		return 1
	}
	# the name is free once more if this is stopped
	recompress_part=$(mktemp "${1%/*}/.coldpress.XXXXXX") || return 1
	recompress_status=0
	{ pzc -dc -- "$1" || echo failed >"$tmp/failed"; } |
	    pzc -q -F "$format" ${level:+-"$level"} >"$recompress_part" ||
	    recompress_status=1
	[ ! -e "$tmp/failed" ] || recompress_status=1
	if [ $recompress_status = 0 ]; then
		recompress_sum=$({ pzc -dc -- "$1" || echo failed; } | sha256sum)
		[ "$recompress_sum" = "$({ pzc -F "$format" -dc \
		    <"$recompress_part" || echo damaged; } | sha256sum)" ] ||
		    recompress_status=1
	fi
	rm -f "$tmp/failed"
	# smaller, or it is left
	if [ $recompress_status = 0 ] && [ "$(stat -c %s "$recompress_part")" \
	    -lt "$(stat -c %s -- "$1")" ]; then
		chmod --reference="$1" "$recompress_part" &&
		    touch -r "$1" "$recompress_part" &&
		    { chown --reference="$1" "$recompress_part" 2>/dev/null ||
		    [ "$(id -u)" != 0 ]; } &&
		    sync -- "$recompress_part" &&
		    ln -- "$recompress_part" "$recompress_to" &&
		    rm -f -- "$1"
		recompress_status=$?
	else
		[ $recompress_status != 0 ] || say "$1 would not be smaller"
	fi
	rm -f "$recompress_part"
	return $recompress_status
}

# apply_files: compresses the files of the proposal's kind, one by one
apply_files() {
	advise_tool --list="$kind" --hot "${hot:-60}" "$place" >"$tmp/list" ||
	    die "$place: cannot be listed"
	[ -s "$tmp/list" ] || {
		say "$place: nothing is left to do"
		return 0
	}
	# one file at a time needs room: the largest one's
	apply_most=$(xargs -0 stat -c %s -- <"$tmp/list" | sort -n | tail -n 1)
	[ -d "$place" ] && apply_in=$place || apply_in=$(dirname "$place")
	room "$apply_in" "$apply_most" 'the largest file'
	apply_before=$(sum_of "$tmp/list")
	apply_status=0
	if [ "$kind" = gzip ]; then
		# a name with a newline cannot be read line by line
		tr '\n\0' '\0\n' <"$tmp/list" >"$tmp/lines"
		while IFS= read -r apply_file; do
			[ -e "$apply_file" ] || continue
			recompress "$apply_file" || apply_status=1
		done <"$tmp/lines"
	else
		xargs -0 pzc -q -F "$format" ${level:+-"$level"} --verify -- \
		    <"$tmp/list" || apply_status=1
	fi
	xargs -0 ls -d -- <"$tmp/list" >"$tmp/left" 2>/dev/null || :
	apply_left=$(wc -l <"$tmp/left")
	say "$place: $(tr -cd '\0' <"$tmp/list" | wc -c) files of \
$apply_before bytes compressed with $format${level:+ -$level} and verified; \
$apply_left left as they were"
	return $apply_status
}

# sum_of LIST: prints the total size of files
sum_of() {
	xargs -0 stat -c %s -- <"$1" | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# apply_tar: writes a tar stream beside the tree, and compares it with the tree
apply_tar() {
	apply_out=${place%/}.tar.$(suffix_of "$format")
	[ ! -e "$apply_out" ] || {
		say "$apply_out exists: nothing was done"
		return 1
	}
	apply_dir=$(dirname "$apply_out")
	result_room "$apply_dir"
	apply_part=$apply_out.coldpress
	rm -f "$apply_part"
	apply_name=$(basename "$place")
	{ tar -C "$apply_dir" -c -- "$apply_name" || : >"$tmp/failed"; } |
	    if [ "$target" = lazy ]; then
		layerpack -q -F "$candidate" -L "$level" -o "$apply_part" - \
		    >/dev/null && layerpack -q --verify "$apply_part"
	    else
		pzc -q -F "$format" ${level:+-"$level"} >"$apply_part"
	    fi || : >"$tmp/failed"
	# shellcheck disable=SC2046 # options without blanks
	[ -e "$tmp/failed" ] || pzc -dc <"$apply_part" |
	    tar -C "$apply_dir" $(lazy_extras) -d >&2 || : >"$tmp/failed"
	if [ -e "$tmp/failed" ]; then
		rm -f "$apply_part"
		die "$apply_out: could not be written, or differs from $place"
	fi
	sync -- "$apply_part"
	ln -- "$apply_part" "$apply_out"
	rm -f "$apply_part"
	say "$apply_out: $(stat -c %s "$apply_out") bytes, equal to $place, \
which stays: remove it if nothing else needs it"
}

# apply_images: replaces the images of the proposal, one by one, each after the
# new one was compared with it, names and attributes too
apply_images() {
	advise_tool --list=image --hot "${hot:-60}" "$place" >"$tmp/list" ||
	    die "$place: cannot be listed"
	[ -s "$tmp/list" ] || {
		say "$place: nothing is left to do"
		return 0
	}
	apply_status=0
	tr '\n\0' '\0\n' <"$tmp/list" >"$tmp/lines"
	while IFS= read -r apply_file; do
		replace_image "$(printf %s "$apply_file" | tr '\0' '\n')" ||
		    apply_status=1
	done <"$tmp/lines"
	return $apply_status
}

# same_image OLD NEW: whether they differ only in how they are compressed
same_image() {
	same_status=0
	sqpack -q --diff "$1" "$2" >"$tmp/differs" || same_status=$?
	# a failure says nothing on standard output
	[ $same_status = 0 ] || [ -s "$tmp/differs" ] || return 1
	! grep -v -x -e 'compressor: [a-z0-9]* -> [a-z0-9]*' \
	    -e 'compressor: other options' -e 'flags: [0-9]* -> [0-9]*' \
	    -e 'fragment blocks: [0-9]* -> [0-9]*' \
	    -e 'bytes used: [0-9]* -> [0-9]*' "$tmp/differs" >&2
}

# replace_image IMAGE: unless something is in front of the image, or signed
replace_image() {
	case $1 in
	*.snap)
		say "$1: a snap may be signed, and is left as it is"
		return 0
		;;
	esac
	[ "$(head -c 4 -- "$1")" = hsqs ] || {
		say "$1: something precedes the image, which is left as it is"
		return 0
	}
	replace_now=$(stat -c %s -- "$1")
	room "$(dirname -- "$1")" "$replace_now" 'the new image'
	# the name is free once more if this is stopped
	replace_part=$(mktemp "${1%/*}/.coldpress.XXXXXX") || return 1
	replace_status=0
	# mktemp has made the file; the block size is the image's
	rm -f "$replace_part"
	sqpack -q -F "$format" ${level:+-L "$level"} -o "$replace_part" "$1" ||
	    replace_status=1
	[ $replace_status != 0 ] ||
	    same_image "$1" "$replace_part" || {
		say "$1: the new image differs; the old one is kept"
		replace_status=1
	}
	[ $replace_status != 0 ] || replace_then=$(stat -c %s -- "$replace_part")
	if [ $replace_status = 0 ] && [ "$replace_then" -lt "$replace_now" ]; then
		chmod --reference="$1" "$replace_part" &&
		    { chown --reference="$1" "$replace_part" 2>/dev/null ||
		    [ "$(id -u)" != 0 ]; } &&
		    touch -r "$1" "$replace_part" &&
		    sync -- "$replace_part" &&
		    mv -f -T -- "$replace_part" "$1" || replace_status=1
		[ $replace_status != 0 ] ||
		    say "$1: $replace_now bytes have become $replace_then"
	elif [ $replace_status = 0 ]; then
		say "$1 would not be smaller"
	fi
	rm -f "$replace_part"
	return $replace_status
}

# apply_image SUFFIX [OPTION]: builds an image beside the tree, and compares
# their checksums
apply_image() {
	need coldwalk
	apply_out=${place%/}.$1
	shift
	[ ! -e "$apply_out" ] || {
		say "$apply_out exists: nothing was done"
		return 1
	}
	result_room "$(dirname "$apply_out")"
	sqpack -q -F "$format" ${level:+-L "$level"} -b "$block" "$@" \
	    -o "$apply_out" "$place" || return 1
	coldwalk -q --cold none "$place" >"$tmp/tree"
	coldwalk -q --cold none "$apply_out" >"$tmp/image"
	for apply_side in tree image; do
		sort "$tmp/$apply_side" >"$tmp/sorted" &&
		    mv "$tmp/sorted" "$tmp/$apply_side"
	done
	cmp -s "$tmp/tree" "$tmp/image" || {
		rm -f "$apply_out"
		die "$apply_out differed from $place, which changes: it was removed"
	}
	say "$apply_out: $(stat -c %s "$apply_out") bytes, equal to $place, \
which stays: remove it if nothing else needs it"
}

# apply_not: what is a setting of something else is only shown
apply_not() {
	commands
	die "$place: a setting that is yours to change: see above"
}

# apply ARGUMENT...: -n prints the commands only
apply() {
	advise_operands "$@"
	[ -e "$place" ] || die "$place: no longer exists"
	[ "$target" = files ] || [ "$place" != / ] ||
	    die 'there is no place beside / for the result'
	if [ -n "$dry" ]; then
		commands
		return
	fi
	case $target in
	files)
		need pzc
		apply_files
		;;
	tar | layers | lazy)
		[ "$kind" != layer ] || apply_not
		need pzc
		[ "$target" != lazy ] || need layerpack
		apply_tar
		;;
	image)
		need sqpack
		if [ "$kind" = image ]; then apply_images; else
			apply_image squashfs
		fi
		;;
	snap)
		need sqpack
		apply_image snap --no-fragments
		;;
	*) apply_not ;;
	esac
}
