# shellcheck shell=sh
# mailfs-source.sh - the mail to copy, and the destination; sourced
# SPDX-License-Identifier: BSD-2-Clause

# source_make: sets $dir, which contains generated mail if none was given
source_make() {
	if [ -z "$dir" ]; then
		[ "$quick" = yes ] || misused 'MAILDIR is missing'
		dir=$study/mail
	fi
	[ "$dir" = "$study/mail" ] || return 0
	from='made mail'
	have mailgen || from='made text'
	[ ! -d "$dir" ] || return 0
	rm -rf "$dir.new"
	if [ "$from" = 'made mail' ]; then
		mailgen -n 600 -s 1 "$dir.new" >>"$study/log" 2>&1 ||
		    die "mailgen failed; see $study/log"
	else
		mkdir -p "$dir.new/log" "$dir.new/sql" "$dir.new/src" \
		    "$dir.new/data"
		dir=$dir.new awk -v kib=2048 -f "$here/tree.awk"
	fi
	mv "$dir.new" "$dir"
}

# source_place: checks that $dir and $study do not overlap, unless the mail was
# generated
source_place() {
	[ "$dir" = "$study/mail" ] || dir_place
	[ -z "$(find "$dir" -name '*
*' -print | head -n 1)" ] ||
	    die "$dir: a name contains a newline, which cpio cannot handle"
}

# source_sizes DIRECTORY: prints the number of files, and their total size
source_sizes() {
	find "$1" -type f -printf '%s\n' |
	    awk '{ n++; b += $1 } END { printf "%d %.0f", n, b }'
}

# source_hash: prints a hash of all names and contents
source_hash() {
	(cd "$dir" && find . -type f -print0 | sort -z |
	    xargs -0 sha256sum -- | sha256sum | cut -c 1-16)
}

# variants_find: sets $variants to the available variants of the requested kinds
variants_find() {
	variants=
	for find_kind in $kinds; do
		find_lack=$(fs_lacking "$find_kind")
		if [ "$find_kind" = zfs ] && [ -n "$find_lack" ]; then
			find_kind=zfs-fuse
			find_lack=$(fs_lacking zfs-fuse)
		fi
		if [ -n "$find_lack" ]; then
			say "$find_kind: $find_lack"
			printf '%s\t%s\n' "$find_kind" "$find_lack" \
			    >>"$study/lacking"
			continue
		fi
		case $find_kind in
		btrfs) variants="$variants btrfs" ;;
		*)
			for find_shift in $ashifts; do
				variants="$variants $find_kind.$find_shift"
			done
			;;
		esac
	done
	[ -n "$variants" ] || cannot 'no filesystem can be created here'
}
