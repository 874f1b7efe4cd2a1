#!/bin/sh
# The command lines of programs and distributions (sqpack_lines.tsv) give the
# same tree with sqpack as with mksquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in mksquashfs unsquashfs sqfs2tar setfattr; do
	have $tool || skip_all "no $tool"
done
mk=$(command -v mksquashfs)
un=$(command -v unsquashfs)
version=$("$mk" -version | sed -n '1s/.*version \([0-9]*\.[0-9]*\).*/\1/p')
echo "# beside mksquashfs $("$mk" -version | sed -n '1s/.*version //p')"

# one directory for each program, and PATH with its names
for who in theirs ours; do
	mkdir -p $who bin/$who
done
for name in mksquashfs unsquashfs; do
	ln -s "$(command -v $name)" bin/theirs/$name
	ln -s "$(command -v sqpack)" bin/ours/$name
done
ln -s "$mk" bin/theirs/sqfstar
ln -s "$(command -v sqpack)" bin/ours/sqfstar

# a small system, with everything that an image can contain
mkdir -p tree/bin tree/etc tree/usr/lib tree/usr/bin tree/dev tree/proc \
    tree/tmp tree/boot/grub tree/var/cache/apt/archives tree/var/lib/apt/lists \
    tree/.hidden
cp /bin/ls tree/bin/ls
cp /bin/cat tree/usr/bin/cat
chmod 4755 tree/usr/bin/cat
ln tree/usr/bin/cat tree/usr/bin/more
seq 60000 >tree/usr/lib/large
cp tree/usr/lib/large tree/var/cache/apt/archives/twin
head -c 300000 /dev/urandom >tree/boot/initrd.img
truncate -s 1M tree/usr/lib/hole
printf x | dd of=tree/usr/lib/hole bs=1 seek=700000 conv=notrunc 2>/dev/null
for name in hosts fstab passwd .empty; do
	[ $name = .empty ] || echo "$name" >tree/etc/$name
	[ $name != .empty ] || : >tree/etc/$name
done
echo kernel >tree/boot/vmlinuz
echo index >tree/var/lib/apt/lists/index
echo kept >tree/.hidden/file
ln -s usr/lib tree/lib
chown 70000:70001 tree/etc/passwd
setfattr -n security.capability \
    -v 0x0100000200200000000000000000000000000000 tree/bin/ls
setfattr -n user.comment -v text tree/etc/hosts 2>/dev/null || :
mknod tree/dev/null c 1 3
mknod tree/dev/console c 5 1
mkfifo tree/dev/initctl
find tree -exec touch -h -d @1600000000 {} +
tar --sort=name -cf tree.tar -C tree .
"$mk" tree/etc old -no-progress -quiet -comp xz >/dev/null
printf 'tmp/*\nvar/cache\n' >ignore
printf 'usr/lib/large 5\nbin/ls -5\n' >order
printf 'dev d 755 0 0\ndev/zero c 666 0 0 1 5\n' >devices
for who in theirs ours; do
	cp -a tree tree.tar old ignore order devices $who
done

# run WHO LINE: runs it there; sets the time, unless the line does
run() {
	rm -rf "$1/image" "$1/.empty"
	(
		cd "$1" || exit
		PATH=$PWD/../bin/$1:$PATH
		case $2 in
		*-all-time* | *-mkfs-time*) ;;
		*)
			SOURCE_DATE_EPOCH=1700000000
			export SOURCE_DATE_EPOCH
			;;
		esac
		eval "$2"
	) >"$1.out" 2>"$1.err" </dev/null && [ -s "$1/image" ] &&
	    case $2 in
	    *'-offset 4096'*)
		tail -c +4097 "$1/image" >"$1/cut" && mv "$1/cut" "$1/image"
		;;
	    esac
}

# contents WHO: prints names and attributes, and a digest of all contents
contents() {
	"$un" -lln -UTC -d '' "$1/image" && sqfs2tar -r root "$1/image" \
	    2>/dev/null | sha256sum
}

# judge LINE: prints the verdict of both images
judge() {
	if cmp -s ours/image theirs/image; then
		echo bytes
		return
	fi
	contents ours >ours.txt
	contents theirs >theirs.txt
	if ! cmp -s ours.txt theirs.txt; then
		echo differs
	elif [ $(($(stat -c %s ours/image) * 100)) -gt \
	    $(($(stat -c %s theirs/image) * 103)) ]; then
		echo larger
	else
		echo tree
	fi
}

# newer VERSION: whether it is after that of the mksquashfs here
newer() {
	[ "$1" != "$version" ] && [ "$(printf '%s\n%s\n' "$1" "$version" |
	    sort -V | tail -n 1)" = "$1" ]
}

# verdict SINCE LINE: prints bytes, tree, larger or differs, if both programs
# made an image; refused, if only sqpack did not; both, if neither did; ours, if
# only sqpack did, or read, if it did and mksquashfs is too old for the options
verdict() {
	ours=0 theirs=0
	run ours "$2" || ours=1
	if newer "$1"; then
		if [ $ours != 0 ]; then
			echo refused
		elif contents ours >ours.txt; then
			echo read
		else
			echo unreadable
		fi
		return
	fi
	run theirs "$2" || theirs=1
	case $ours$theirs in
	00) judge ;;
	01) echo ours ;;
	10) echo refused ;;
	*) echo both ;;
	esac
}

while IFS='	' read -r client since want line; do
	case $client in
	'#'*) continue ;;
	esac
	got=$(verdict "$since" "$line" 3>&1)
	echo "$got" >>verdicts
	case $want,$got in
	same,bytes | same,tree | same,read | "$got,$want" | *,ours)
		ok "$client: $got" ;;
	*)
		not_ok "$client: $got, expected $want"
		echo "# $line"
		sed -n '1,3s/^/# ours: /p' ours.err
		sed -n '1,3s/^/# theirs: /p' theirs.err 2>/dev/null
		diff ours.txt theirs.txt 2>/dev/null | sed -n '1,6s/^/# /p'
		;;
	esac
done <"$SRC/tests/sqpack_lines.tsv"
echo "# verdicts: $(sort verdicts | uniq -c | tr -s ' \n' ' ')"
done_testing
