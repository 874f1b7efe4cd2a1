#!/bin/sh
# sqpack as mksquashfs: sources that keep their paths, directories that are only
# implied, archives in a row, and images that are streamed.
# COLDPRESS_MKSQUASHFS names a folder with mksquashfs 4.7, whose images are the
# same.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir bin
for name in mksquashfs sqfstar unsquashfs; do
	ln -s "$(command -v sqpack)" bin/$name
done
PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
is_new=false
case $(mksquashfs -version 2>/dev/null) in
*'version 4.7'*) is_new=true ;;
esac

set -f
mkdir -p trees/p/a/b trees/p/c trees/q
cd trees || exit
echo 1 >p/a/b/x
seq 30000 >p/a/y
echo 3 >p/c/z
echo 4 >q/f
ln p/a/y p/c/hard
ln -s a p/link
chmod 711 p/a
setfattr -n user.k -v v p/a 2>/dev/null
find . -exec touch -h -d @1600000000 {} +
chmod 750 .
touch -d @1600000000 .

# names IMAGE: lists it, one line
names() { sqpack -l "$1" | sed 's,/$,,' | tr '\n' ' '; }

# both NAMES WORD...: makes an image with these names; standard input is from
# ../input.  The original's is the same.
both() {
	both_names=$1
	shift
	rm -f ../image ../theirs
	# shellcheck disable=SC2086
	t "$* $both_options" 0 ../bin/mksquashfs "$@" ../image -quiet -no-progress \
	    -comp lz4 $both_options <../input
	is 'has the names' "$(names ../image)" "$both_names"
	t 'is intact' 0 coldwalk -q ../image
	$is_new || return 0
	# shellcheck disable=SC2086
	mksquashfs "$@" ../theirs -quiet -no-progress -comp lz4 \
	    $both_options <../input >/dev/null 2>&1
	same 'is the same' ../image ../theirs
}

: >../input
# a link is packed itself, unless its name ends in a slash
both_options='-root-time 5'
both 'link ' p/link
both 'b b/x y ' p/link/
both_options=-tarstyle
both 'p p/a p/a/b p/a/b/x p/c p/c/z ' p/a/b p/c/z
both 'p p/a p/a/b p/a/b/x p/a/y p/c p/c/hard p/c/z ' p/a ./p//c/ p/a/y
both 'p p/a p/a/y q q/f ' p/a/y q
both 'p p/link ' p/link
both_options=-no-strip
both 'trees trees/q trees/q/f ' ../trees/q/f
is 'in the root of the source' "$(unsquashfs -lln ../image 2>/dev/null |
    sed -n '1s/ .*//p')" "$(stat -c %A ..)"
both_options='-tarstyle -wildcards -e p/a/* -all-root'
both 'p p/a p/c p/c/hard p/c/z p/link ' p
both_options='-tarstyle -e b'
both 'p p/a p/a/y ' p/a

both_options=-cpiostyle
find p >../input
both 'p p/a p/a/b p/a/b/x p/a/y p/c p/c/hard p/c/z p/link ' -
printf './p/a\n\n.\nq/f\nq\np' >../input
both 'p p/a q q/f ' -
: >../input
both '' -
both_options=-cpiostyle0
find ./p ./q -type f -print0 >../input
both 'p p/a p/a/b p/a/b/x p/a/y p/c p/c/hard p/c/z q q/f ' -
both_options='-cpiostyle -root-time 5'
printf '%s/p/c/z\nq/f\n' "$PWD" >../input
../bin/mksquashfs - ../image -cpiostyle -quiet -no-progress -noappend <../input
is 'from different roots' "$(sqpack -l ../image | grep -v '/$' | LC_ALL=C sort)" \
    "$(printf '%s\n' q/f "${PWD#/}/p/c/z" | LC_ALL=C sort)"

# wrong WORD MESSAGE...
wrong() {
	wrong_text=$1
	shift
	rm -f ../no.img
	t "refused: $*" 1 ../bin/mksquashfs "$@" <../input
	shows 'is named' "$wrong_text" .t.err
	t 'no image' 1 test -e ../no.img
}
wrong "cannot contain '.' or" p/../q ../no.img -tarstyle
wrong 'needs a path with a name' .. ../no.img -tarstyle
wrong 'Not a directory' p/a/y/z ../no.img -tarstyle
wrong 'No such file' none/x ../no.img -tarstyle
wrong 'requires the source -' p ../no.img -cpiostyle
mkdir ../p
wrong 'would have the same name' p/a ../p ../no.img -tarstyle
printf 'p/a/y\np/none\n' >../input
wrong 'p/none: No such file' - ../no.img -cpiostyle

# added to an image
: >../input
rm -f ../image
t 'an image' 0 ../bin/mksquashfs q ../image -quiet -no-progress
t 'is added to' 0 ../bin/mksquashfs p/a/b ../image -tarstyle -quiet -no-progress
is 'with paths' "$(names ../image)" 'f p p/a p/a/b p/a/b/x '
cd ..

# Archives
if have python3; then
	cat >implied.py <<'END'
import io, tarfile
with tarfile.open("implied.tar", "w") as t:
    for name, data in (("x/y/f", b"hello"), ("x/g", b"xx" * 9000)):
        i = tarfile.TarInfo(name)
        i.size, i.mtime = len(data), 1600000000
        t.addfile(i, io.BytesIO(data))
END
	python3 implied.py
	tar -C trees -cf second.tar p q
	cat implied.tar second.tar >row.tar
	cd trees || exit
	cp ../implied.tar ../input
	for both_options in '-tar -root-time 5' \
	    '-tar -default-mode 700 -default-uid 5 -default-gid 6' \
	    '-tar -default-mode u+s,g-x -force-uid 9 -root-mode 711' \
	    '-tar -mkfs-time inode -all-time inode' \
	    '-tar -all-time inode -default-uid 3'; do
		both 'x x/g x/y x/y/f ' -
	done
	t 'implied directories' 0 ../bin/unsquashfs -lln ../image
	shows 'belong to the default user' '^drwxr-xr-x 3/.* squashfs-root/x/y$'
	cp ../row.tar ../input
	both_options='-tar -root-time 5'
	both 'x x/g x/y x/y/f ' -
	both_options='-tar -root-time 5 -ignore-zeros'
	both 'p p/a p/a/b p/a/b/x p/a/y p/c p/c/hard p/c/z p/link q q/f x x/g x'"\
/y x/y/f " -
	{ cat ../implied.tar; head -c 5120 /dev/urandom; cat ../second.tar; } \
	    >../input
	t 'with noise between them' 0 ../bin/mksquashfs - ../image -noappend \
	    -tar -ignore-zeros -quiet -no-progress <../input
	t 'the second is read' 0 sqpack --cat q/f ../image
	cd ..
else
	skip 'python3 is not installed'
fi

# Directories of pseudo files
: >input
cd trees || exit
rm -f ../image ../theirs
set -- q ../image -quiet -no-progress -comp lz4 \
    -p 'n/m/f f 644 0 0 echo x' -p 'n/s s 777 0 0 to'
t 'missing directories' 0 ../bin/mksquashfs "$@" -pd 'd 751 3 4'
t 'are defined' 0 ../bin/unsquashfs -lln ../image
shows 'by -pd' '^drwxr-x--x 3/4 .* squashfs-root/n/m$'
mv ../image ../ours
if $is_new; then
	mksquashfs "$@" -pd 'd 751 3 4' >/dev/null 2>&1
	same 'the same' ../ours ../image
fi
rm -f ../image
t 'and the root' 0 ../bin/mksquashfs - ../image -quiet -no-progress \
    -pseudo-dir 'D 1600000000 711 3 4' -p 'n/f f 644 0 0 echo x'
t 'has its attributes' 0 ../bin/unsquashfs -UTC -lln ../image
shows 'too' '^drwx--x--x 3/4 .* 2020-09-13 12:26 squashfs-root$'
wrong 'expected d or, with a time, D' q ../no.img -pd 'f 644 0 0 true'
wrong 'expected a user' q ../no.img -pd 'd 755 no-such-user- 0'
cd ..

# Streams
for c in lz4 zstd; do
	set -- trees/p - -comp $c -stream
	t "$c streamed" 0 to stream sh -c "bin/mksquashfs $* | cat"
	if $is_new; then
		mksquashfs "$@" >theirs 2>/dev/null
		same 'the same' stream theirs
	fi
	t 'unsquashfs reads it' 0 bin/unsquashfs -q -n -d out stream
	t 'all of it' 0 diff -r --no-dereference out trees/p
	rm -rf out
	t 'Linux would not mount it' 1 sqpack -l stream
	shows 'which is said' 'the superblock is at the end' .t.err
	cp stream fixed
	t 'it is fixed' 0 bin/mksquashfs -fix fixed
	t 'and is an image' 0 sqpack -l fixed
	t 'complete' 0 coldwalk -q fixed
	t 'only once' 1 bin/mksquashfs -fix fixed
	shows 'is named' 'not an image made with -stream' .t.err
	head -c 3000 stream >part
	t 'a part of it' 1 bin/mksquashfs -fix part
	t 'is no image' 1 bin/unsquashfs -l part
done
t 'a stream from a stream' 0 to stream sh -c \
    'tar -C trees -cf - p | bin/sqfstar -stream p/a/b | cat'
t 'is read' 0 bin/unsquashfs -l stream
is 'without what is excluded' "$(grep -c /b .t.out)" 0
for o in -progress -percentage '-offset 4K' -info; do
	# shellcheck disable=SC2086
	t "-stream with $o" 1 bin/mksquashfs trees/p - -stream $o
	shows 'is refused' '-stream cannot be used with' .t.err
done
t 'to a full device' 1 to /dev/full bin/mksquashfs trees/p - -stream
t 'not an image' 1 bin/mksquashfs -fix none
t 'sqfstar onto an image' 1 sh -c 'tar -C trees -cf - q | bin/sqfstar fixed'
shows 'needs -force' 'force replaces the image' .t.err
t 'which it takes' 0 sh -c \
    'tar -C trees -cf - q | bin/sqfstar -quiet -no-progress -force fixed'
is 'then' "$(names fixed)" 'q q/f '
done_testing
