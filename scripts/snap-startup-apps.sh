# shellcheck shell=sh
# snap-startup-apps.sh - applications, their trees and their images; sourced
# SPDX-License-Identifier: BSD-2-Clause
#
# An application is described by a file NAME.app with lines KEY=VALUE;
# doc/snap-startup.md lists the keys.  Its tree is $trees/NAME.  With own=, the
# files of the packages listed there form the application, and all other files
# form its content image.

# app_file NAME: prints the path of its description; a description given with
# --from takes precedence
app_file() {
	for app_path in $from; do
		[ "$(basename "$app_path" .app)" != "$1" ] || {
			echo "$app_path"
			return 0
		}
	done
	echo "$here/snap-startup-apps/$1.app"
}

# app_get NAME KEY: prints the value of the key, or nothing
app_get() { sed -n "s/^$2=//p" "$(app_file "$1")" | head -n 1; }

# app_parts NAME: prints the parts, each of which has its own image
app_parts() {
	if [ -n "$(app_get "$1" own)" ]; then
		echo 'app content'
	else
		echo app
	fi
}

# app_dir NAME PART: prints the path of a part's tree
app_dir() {
	app_dir_tree=$(app_get "$1" tree)
	if [ -n "$app_dir_tree" ]; then
		echo "$app_dir_tree"
	elif [ -n "$(app_get "$1" own)" ]; then
		echo "$study/parts/$1/$2"
	else
		echo "$trees/$1"
	fi
}

# app_whole NAME: prints the path of the tree that contains all parts
app_whole() {
	if [ -n "$(app_get "$1" tree)" ]; then
		app_dir "$1" app
	else
		echo "$trees/$1"
	fi
}

# app_check NAME: exits with an error unless the description is valid
app_check() {
	app_path=$(app_file "$1")
	[ -r "$app_path" ] || die "$app_path: no such description"
	check_bad=$(grep -Env '^(#|$|(packages|own|tree|appimage|generate|host|command|class|criterion|match)=.)' \
	    "$app_path" | head -n 1)
	[ -z "$check_bad" ] || die "$app_path: line ${check_bad%%:*} is not KEY=VALUE with a known key"
	[ -n "$(app_get "$1" command)" ] || die "$app_path: command= is missing"
	check_tree=$(app_get "$1" tree)
	[ -z "$check_tree" ] || [ -d "$check_tree" ] ||
	    die "$app_path: $check_tree is not a directory"
}

# tree_packages NAME: makes a minimal Debian system with its packages and their
# dependencies
tree_packages() {
	need mmdebstrap
	room "$trees" 4000000000 "the tree of $1"
	mmdebstrap --variant=minbase --format=directory \
	    --include="$(app_get "$1" packages | tr ' ' ,)" \
	    bookworm "$trees/$1.new" >>"$study/log" 2>&1 ||
	    die "mmdebstrap: $(tail -n 1 "$study/log")"
	tree_times "$trees/$1.new"
	if [ -x "$trees/$1.new/usr/bin/fc-cache" ]; then
		chroot "$trees/$1.new" fc-cache -s >>"$study/log" 2>&1 || :
	fi
}

# tree_times TREE: truncates all timestamps to whole seconds, which is what
# squashfs stores; otherwise caches that record the time of a directory would be
# valid in the tree but stale in its images
tree_times() {
	find "$1" ! -type l -print0 |
	    perl -0 -ne 'chomp; my @s = stat; utime @s[8, 9], $_ if @s'
}

# tree_generate NAME: copies the machine's Python modules, except large modules
# that are rarely used; the launch uses the machine's interpreter
tree_generate() {
	have python3 || cannot 'python3 is not installed'
	generate_lib=$(python3 -c 'import os; print(os.path.dirname(os.__file__))')
	mkdir -p "$trees/$1.new/usr/lib"
	(cd "$(dirname "$generate_lib")" && tar -c --exclude 'config-*' \
	    --exclude '*-packages' --exclude test --exclude tests \
	    --exclude '*.opt-?.pyc' --exclude idlelib --exclude lib2to3 \
	    --exclude ensurepip --exclude tkinter --exclude turtledemo \
	    "$(basename "$generate_lib")") | tar -x -C "$trees/$1.new/usr/lib"
}

# app_tree NAME: creates the application's tree, which is renamed into place
# once complete
app_tree() {
	[ ! -d "$(app_whole "$1")" ] || return 0
	mkdir -p "$trees"
	rm -rf "$trees/$1.new"
	say "making the tree of $1"
	if [ -n "$(app_get "$1" packages)" ]; then
		tree_packages "$1"
	elif [ -n "$(app_get "$1" appimage)" ]; then
		need sqpack
		mkdir "$trees/$1.new"
		sqpack -x "$trees/$1.new" "$(app_get "$1" appimage)" ||
		    die "$1: no image in the AppImage"
	else
		tree_generate "$1"
	fi
	mv "$trees/$1.new" "$trees/$1"
}

# app_split NAME: separates the application's files from all other files
app_split() {
	[ -n "$(app_get "$1" own)" ] && [ ! -d "$study/parts/$1" ] || return 0
	split_new=$study/parts/$1.new
	rm -rf "$split_new"
	mkdir -p "$split_new/app"
	cp -al "$trees/$1" "$split_new/content" 2>/dev/null || {
		rm -rf "$split_new/content"
		cp -a "$trees/$1" "$split_new/content"
	}
	for split_package in $(app_get "$1" own); do
		cat "$trees/$1/var/lib/dpkg/info/$split_package".list
	done | sed -n 's,^/\(.\),\1,p' | while IFS= read -r split_path; do
		if [ -d "$trees/$1/$split_path" ] &&
		    [ ! -L "$trees/$1/$split_path" ]; then
			mkdir -p "$split_new/app/$split_path"
		elif [ -e "$trees/$1/$split_path" ] ||
		    [ -L "$trees/$1/$split_path" ]; then
			mkdir -p "$split_new/app/$(dirname "$split_path")"
			mv "$split_new/content/$split_path" \
			    "$split_new/app/$split_path"
		fi
	done
	for split_part in app content; do
		split_times "$split_new/$split_part" "$trees/$1"
	done
	mv "$split_new" "$study/parts/$1"
}

# split_times PART TREE: gives the part's directories the timestamps that they
# have in the tree
split_times() {
	(cd "$1" && find . -type d -print0) | TREE=$2 PART=$1 perl -0 -ne '
		chomp;
		my @s = stat "$ENV{TREE}/$_";
		utime @s[8, 9], "$ENV{PART}/$_" if @s'
}

# image_file NAME PART IMAGE: prints the image's path
image_file() { echo "$study/images/$1.$2.$3.sqsh"; }

# image_make NAME PART IMAGE OPTIONS: creates an image with mksquashfs, as in
# the published study, or with equivalent options of sqpack; the image is
# renamed into place once complete
image_make() {
	make_file=$(image_file "$1" "$2" "$3")
	[ ! -e "$make_file" ] || return 0
	make_dir=$(app_dir "$1" "$2")
	mkdir -p "$study/images"
	rm -f "$make_file.new"
	case $3 in
	*.sqpack | *.sorted)
		make_order=
		[ "$3" = "${3%.sorted}" ] || {
			touch_make "$1"
			make_order=$(touch_list "$1" "$2")
		}
		# shellcheck disable=SC2086
		sqpack --all-root --no-fragments --no-xattrs $4 \
		    ${make_order:+--order "$make_order"} \
		    -o "$make_file.new" "$make_dir" >>"$study/log" 2>&1
		;;
	*)
		# shellcheck disable=SC2086
		mksquashfs "$make_dir" "$make_file.new" -noappend \
		    -no-fragments -all-root -no-xattrs -no-progress $4 \
		    >>"$study/log" 2>&1
		;;
	esac || die "$3 of $1: $(tail -n 1 "$study/log")"
	mv "$make_file.new" "$make_file"
}

# touch_list NAME PART: prints the path of a part's list, the data that a launch
# needs from it; the file .paths next to it contains only the paths
touch_list() { echo "$study/touched/$1.$2.tsv"; }

# touch_trace NAME LIST [: IMAGE]: lists the files and pages that a launch
# needs; the list is exact if erofs is available
touch_trace() {
	touch_app=$1 touch_to=$2
	shift 2
	TMPDIR=$study touchlog -q -f "$touch_exact" \
	    --root "$(app_whole "$touch_app")" -o "$touch_to" -- \
	    sh "$here/snap-startup-launch.sh" "$study" \
	    "$(app_file "$touch_app")" "$(app_whole "$touch_app")" "$@" \
	    2>>"$study/log" ||
	    die "$touch_app under touchlog: $(tail -n 1 "$study/log")"
}

# touch_make NAME: lists the data that a launch needs until its window appears,
# for the report; and, for each part, the data that at least one of two launches
# needs until it is quiet, if this can be determined
touch_make() {
	touch_whole=$study/touched/$1.tsv
	[ ! -e "$touch_whole" ] || return 0
	need touchlog
	mkdir -p "$study/touched"
	touch_all=$study/touched/$1.quiet.tsv
	if have mkfs.erofs && grep -q erofs /proc/filesystems; then
		touch_exact=--exact
		touch_trace "$1" "$touch_whole.new"
		# in this case the tree is on a separate device
		touch_trace "$1" "$touch_all.1" : "$(app_whole "$1")"
		touch_trace "$1" "$touch_all.2" : "$(app_whole "$1")"
		awk -F '\t' '!seen[$2, $3, $4]++' "$touch_all.1" \
		    "$touch_all.2" >"$touch_all"
	else
		touch_exact=--pages
		touch_trace "$1" "$touch_whole.new"
		cp "$touch_whole.new" "$touch_all"
	fi
	for touch_part in $(app_parts "$1"); do
		touch_split "$1" "$touch_part"
	done
	mv "$touch_whole.new" "$touch_whole"
}

# touch_split NAME PART: makes a part's lists from $touch_all
touch_split() {
	split_dir=$(app_dir "$1" "$2") split_list=$(touch_list "$1" "$2")
	awk -F '\t' '!seen[$2]++ { print $2 }' "$touch_all" | while IFS= read -r split_path; do
		[ ! -f "$split_dir/$split_path" ] || printf '%s\n' "$split_path"
	done >"${split_list%.tsv}.paths"
	awk -F '\t' 'FNR == NR { part[$0]; next } $2 in part' \
	    "${split_list%.tsv}.paths" "$touch_all" >"$split_list"
}
