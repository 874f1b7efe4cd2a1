#!/bin/sh
# Programs that call mksquashfs and unsquashfs, run whole: with sqpack under
# these names they make images with the same contents, which can be mounted.
# SPDX-License-Identifier: BSD-2-Clause
#
# Clients that are not installed are left out, and those that are not in
# $COLDPRESS_CLIENTS, if this is set: snap appimagetool lb dracut enroot apptainer
# genimage rauc mkosi
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in mksquashfs unsquashfs getfattr; do
	have $tool || skip_all "no $tool"
done
mk=$(command -v mksquashfs)
un=$(command -v unsquashfs)
version=$("$mk" -version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
top=$PWD


# bin/theirs and bin/ours have the names; each call is noted in calls
for who in theirs ours; do
	mkdir -p bin/$who real/$who $who
	for name in mksquashfs unsquashfs; do
		printf '#!/bin/sh\nprintf "%%s\\n" "%s $*" >>%s/calls\nexec %s/real/%s/%s "$@"\n' \
		    $name "$top" "$top" $who $name >bin/$who/$name
		chmod 755 bin/$who/$name
		ln -s "$(command -v sqpack)" real/ours/$name 2>/dev/null
	done
done
# live-build gives way to everything else
for who in theirs ours; do
	printf '#!/bin/sh\nshift 2\nexec "$@"\n' >bin/$who/nice
	chmod 755 bin/$who/nice
done
cp "$mk" real/theirs/mksquashfs
cp "$un" real/theirs/unsquashfs

# The tree that is packed runs: a static program, links, attributes
mkdir -p rootfs/bin rootfs/etc rootfs/dev rootfs/proc rootfs/sys rootfs/tmp \
    rootfs/usr/lib rootfs/root rootfs/var rootfs/home
cat >hello.c <<'END'
#include <unistd.h>

int main(void)
{
	return write(1, "hello from the image\n", 21) != 21;
}
END
"${CC:-cc}" -static -O1 -o rootfs/bin/hello hello.c 2>err ||
    skip_all 'no static program can be built here'
cp rootfs/bin/hello rootfs/bin/sh
seq 100000 >rootfs/usr/lib/data
cp rootfs/usr/lib/data rootfs/usr/lib/twin
ln rootfs/usr/lib/data rootfs/usr/lib/hard
ln -s usr/lib rootfs/lib
head -c 200000 /dev/urandom >rootfs/usr/lib/random
truncate -s 1M rootfs/usr/lib/hole
for name in passwd group hosts resolv.conf localtime os-release; do
	: >rootfs/etc/$name
done
echo 'root:x:0:0:root:/root:/bin/sh' >rootfs/etc/passwd
chmod 4755 rootfs/usr/lib/twin
find rootfs -exec touch -h -d @1600000000 {} +

facts() {
	(cd "$1" && find . -printf '%y %m %U %G %s %P %l\n' |
	    awk '$1 == "d" { $5 = "" } { print }' | sort
	find . -type f ! -links 1 -printf '%n %P\n' | sort
	find . -type f -exec sha256sum {} + | sort
	getfattr -Rhd -m - -e hex . 2>/dev/null || :)
}
stamps() { (cd "$1" && find . -mindepth 1 ! -type d -printf '%Ts %P\n' | sort); }

# mounted IMAGE OFFSET COMMAND...: runs the command with the image at mnt
mkdir mnt
mounted() {
	m_image=$1 m_offset=$2
	shift 2
	mount -t squashfs -o "loop,ro,offset=$m_offset" "$m_image" mnt ||
	    return
	m_got=0
	"$@" || m_got=$?
	umount mnt
	return $m_got
}
mksquashfs rootfs probe -quiet -no-progress >/dev/null
mounted probe 0 true 2>/dev/null || skip_all 'no squashfs mount'

# compared NAME IMAGE [OFFSET]: the files IMAGE in theirs/ and ours/ have the
# same contents when mounted; xz, lzo, zstd and lz4 images of mksquashfs 4.7.5
# have the same bytes
compared() {
	c_offset=${3:-0}
	for c_who in theirs ours; do
		t "$1: the kernel mounts $c_who" 0 mounted "$c_who/$2" \
		    "$c_offset" to $c_who.facts facts mnt
		mounted "$c_who/$2" "$c_offset" to $c_who.stamps stamps mnt
	done
	same "$1: the same contents" ours.facts theirs.facts
	t "$1: coldwalk" 0 coldwalk -q --offset "$c_offset" "ours/$2"
	c_same=no
	! cmp -s "ours/$2" "theirs/$2" || c_same=yes
	echo "# $1: the same bytes as mksquashfs $version: $c_same"
	grep '^mksquashfs .*ours/\|^mksquashfs [^/]' calls |
	    grep -v -e -version | sed "s,$top/,,g; s/^/# $1: /" | tail -n 1
}

# wanted CLIENT: whether it is installed, and to be tried
wanted() {
	case " ${COLDPRESS_CLIENTS:-$1} " in
	*" $1 "*) have "$1" ;;
	*) false ;;
	esac
}

# client NAME IMAGE FUNCTION [OFFSET]: FUNCTION makes IMAGE in theirs/ and ours/
client() {
	: >calls
	for who in theirs ours; do
		t "$1: with $who" 0 in_path $who "$3"
		[ -s "$who/$2" ] || return 0
	done
	is "$1: calls mksquashfs" "$(grep -c '^mksquashfs' calls |
	    sed 's/^[1-9].*/some/')" some
	compared "$1" "$2" "${4:-0}"
}

# in_path WHO FUNCTION: in the directory, with the names first in PATH
in_path() {
	(
		cd "$1" || exit
		PATH=$top/bin/$1:$PATH
		export PATH
		"$2"
	)
}

# snap pack
pack_snap() {
	SOURCE_DATE_EPOCH=1700000000 snap pack --filename=a.snap ../snap
}
if wanted snap; then
	cp -a rootfs snap
	mkdir snap/meta
	printf '%s\n' 'name: coldpress-test' "version: '1'" 'summary: a' \
	    'description: a' 'architectures: [all]' 'apps:' '  hello:' \
	    '    command: bin/hello' >snap/meta/snap.yaml
	client "snap pack $(snap version | sed -n 's/^snap  *//p')" a.snap \
	    pack_snap
else
	skip 'no snap'
fi

# appimagetool: the run time needs sections of its own
make_appimage() {
	ARCH=x86_64 appimagetool -n --runtime-file ../runtime ../App a.AppImage
}
if wanted appimagetool && have objcopy; then
	cp -a rootfs App
	printf '[Desktop Entry]\nName=hello\nExec=hello\nIcon=hello\nType=Application\nCategories=Utility;\n' >App/hello.desktop
	echo x >App/hello.png
	cp App/bin/hello App/AppRun
	cp rootfs/bin/hello runtime
	head -c 1024 /dev/zero >zeros
	for section in .digest_md5 .upd_info .sha256_sig .sig_key; do
		objcopy --add-section $section=zeros runtime
	done
	client appimagetool a.AppImage make_appimage "$(stat -c %s runtime)"
	t 'appimagetool: found behind the program' 0 to list \
	    sqpack -l ours/a.AppImage
	shows 'appimagetool: lists the files' 'usr/lib/data' list
else
	skip 'no appimagetool'
fi

# live-build: the stage that makes the image
live_build() {
	lb config --distribution bookworm --build-with-chroot false \
	    --chroot-squashfs-compression-type xz --mode debian &&
	    cp -a ../rootfs chroot && mkdir -p .build &&
	    touch .build/config .build/bootstrap .build/chroot \
	        .build/binary_chroot || return
	lb binary_rootfs
	[ -s binary/live/filesystem.squashfs ]
}
if wanted lb; then
	client "live-build $(dpkg-query -W -f '${Version}' live-build)" \
	    binary/live/filesystem.squashfs live_build
else
	skip 'no live-build'
fi

# dracut, with a kernel that can be started here; it sets PATH
kernel=$(find /usr/lib/uml/modules -mindepth 1 -maxdepth 1 2>/dev/null |
    head -n 1)
cat >dracut.sh <<'END'
mount -t overlay overlay \
    -o "lowerdir=/usr/lib,upperdir=$1/upper,workdir=$1/work" /usr/lib &&
    mkdir -p "/lib/modules/${2##*/}" &&
    mount --bind "$2" "/lib/modules/${2##*/}" &&
    mount --bind "$3/mksquashfs" /usr/bin/mksquashfs &&
    mount --bind "$3/unsquashfs" /usr/bin/unsquashfs &&
    exec dracut --force --no-hostonly --no-hostonly-cmdline \
	--kver "${2##*/}" --modules 'base bash fs-lib rootfs-block udev-rules squash' \
	--no-compress --reproducible "$1/initrd"
END
dracut_squash() {
	mkdir upper work &&
	    unshare -m --propagation private sh ../dracut.sh "$PWD" "$kernel" \
	        "$top/bin/${PWD##*/}" \
	        >dracut.log 2>&1 &&
	    mkdir initramfs && cd initramfs && cpio -id --quiet <../initrd
}
if wanted dracut && have cpio && [ -n "$kernel" ] &&
    [ -e /usr/lib/dracut/modules.d/99squash ]; then
	client "dracut $(dracut --version | sed 's/^dracut *//')" \
	    initramfs/squash-root.img dracut_squash
else
	skip 'no dracut with its squash module, cpio or kernel of user-mode-linux'
fi

# its image starts: systemd runs from the image under the overlay
welcome() { grep -aq 'Welcome to\|systemd.*running in' boot.log || gone "$uml"; }
if [ -s ours/initrd ] && have linux.uml; then
	setsid linux.uml mem=512M "initrd=$top/ours/initrd" root=/dev/none \
	    con0=null,fd:1 con=null panic=-1 </dev/null >boot.log 2>&1 &
	uml=$!
	await welcome
	kill -9 "-$uml" 2>/dev/null
	wait $uml 2>/dev/null
	shows 'dracut: the kernel boots from our image' 'Welcome to\|running in' \
	    boot.log
else
	skip 'dracut: no linux.uml to boot'
fi

# enroot: exports, and imports from a registry
enroot_setup() {
	ENROOT_DATA_PATH=$PWD/data ENROOT_RUNTIME_PATH=$PWD/run
	ENROOT_CACHE_PATH=$PWD/cache ENROOT_CONFIG_PATH=$PWD/config
	ENROOT_TEMP_PATH=$PWD ENROOT_MAX_PROCESSORS=2 ENROOT_ALLOW_HTTP=y
	SOURCE_DATE_EPOCH=1700000000
	export ENROOT_DATA_PATH ENROOT_RUNTIME_PATH ENROOT_CACHE_PATH \
	    ENROOT_CONFIG_PATH ENROOT_TEMP_PATH ENROOT_MAX_PROCESSORS \
	    ENROOT_ALLOW_HTTP SOURCE_DATE_EPOCH
	mkdir -p data run cache config
}
enroot_export() {
	enroot_setup
	enroot create -n box "$top/probe" && echo changed >data/box/etc/hosts &&
	    touch -d @1600000000 data/box/etc/hosts &&
	    enroot export -o export.sqsh box
}
enroot_import() {
	enroot_setup
	enroot import -o import.sqsh docker://127.0.0.1:5838#t:one
}
if wanted enroot; then
	client "enroot $(enroot version): create and export" export.sqsh \
	    enroot_export
else
	skip 'no enroot'
fi
if wanted enroot && have docker-registry && have skopeo && have jq &&
    have parallel && have curl; then
	(cd rootfs && tar --numeric-owner -cf ../layer.tar .) &&
	    mkdir -p second/etc && echo second >second/etc/second &&
	    layer rootfs gzip && layer second gzip && manifest one
	# the registry converts for clients that ask for a list, which takes
	# a history
	once='{"created":"2020-01-01T00:00:00Z"}'
	sed "s/}\$/,\"history\":[$once,$once]}/" config.json >told.json
	config=$(blob config.json) told=$(blob told.json)
	made=$(blob manifest.json)
	sed "s|$config|$told|" manifest.json >telling.json
	sed "s|$made|$(blob telling.json)|" layout/index.json >index.json
	mv index.json layout/index.json
	cat >registry.yml <<END
version: 0.1
storage:
  filesystem:
    rootdirectory: $top/registry
http:
  addr: 127.0.0.1:5838
END
	docker-registry serve registry.yml >registry.log 2>&1 &
	registry=$!
	trap 'kill $registry 2>/dev/null' EXIT
	await grep -q 'listening on' registry.log
	skopeo copy -q --format v2s2 --dest-tls-verify=false oci:layout:one \
	    docker://127.0.0.1:5838/t:one 2>err ||
	    not_ok "skopeo: $(head -n 1 err)"
	client "enroot $(enroot version): import" import.sqsh enroot_import
	kill $registry
	wait $registry 2>/dev/null
else
	skip 'enroot import: no enroot, docker-registry, skopeo, jq or parallel'
fi

# genimage
make_genimage() {
	cat >genimage.cfg <<'END'
image plain.squashfs {
	squashfs {
		compression = "xz"
		block-size = 65536
	}
}
END
	SOURCE_DATE_EPOCH=1700000000 genimage --config genimage.cfg \
	    --rootpath ../rootfs --tmppath work.tmp --outputpath . \
	    --inputpath .
}
if wanted genimage; then
	client "genimage $(genimage --version | sed 's/.* //')" \
	    plain.squashfs make_genimage
else
	skip 'no genimage'
fi

# mkosi: the step that makes the image
cat >by_mkosi.py <<'END'
import pathlib
import types
import mkosi
config = types.SimpleNamespace(
    output_format=mkosi.OutputFormat.gpt_squashfs, mksquashfs_tool=[],
    compress_fs=None, compress="zstd", output=pathlib.Path("image.raw"))
f = mkosi.generate_squashfs(
    types.SimpleNamespace(config=config, for_cache=False),
    pathlib.Path("../rootfs"))
pathlib.Path("mkosi.squashfs").write_bytes(pathlib.Path(f.name).read_bytes())
END
make_mkosi() {
	SOURCE_DATE_EPOCH=1700000000 /usr/bin/python3 ../by_mkosi.py
}
if wanted mkosi && /usr/bin/python3 -c 'import mkosi' 2>/dev/null; then
	client "$(mkosi --version)" mkosi.squashfs make_mkosi
else
	skip 'no mkosi'
fi

# rauc: bundles, which it then describes and extracts with unsquashfs
rauc_bundle() {
	rm -rf input
	mkdir input
	cp ../rootfs/usr/lib/random input/rootfs.img
	printf '%s\n' '[update]' compatible=t version=1 '[bundle]' \
	    format=verity '[image.rootfs]' filename=rootfs.img \
	    >input/manifest.raucm
	SOURCE_DATE_EPOCH=1700000000 rauc --conf ../rauc.conf \
	    --cert ../rauc.crt --key ../rauc.key \
	    --mksquashfs-args='-comp zstd' bundle input box.raucb
}
rauc_extract() { rauc --conf ../rauc.conf extract box.raucb extracted; }
if wanted rauc && have openssl && openssl req -x509 -newkey rsa:2048 -nodes \
    -keyout rauc.key -out rauc.crt -subj /CN=t -days 9 2>/dev/null; then
	printf '%s\n' '[system]' compatible=t bootloader=noop '[keyring]' \
	    "path=$top/rauc.crt" >rauc.conf
	client "$(rauc --version)" box.raucb rauc_bundle
	for who in theirs ours; do
		t "rauc verifies and extracts $who" 0 in_path $who rauc_extract
		same "$who: the same image" $who/extracted/rootfs.img \
		    rootfs/usr/lib/random
	done
	is 'with unsquashfs' "$(grep -c '^unsquashfs.*extracted' calls)" 2
else
	skip 'no rauc'
fi

# apptainer: builds SIF files, and runs them
apptainer_build() {
	APPTAINER_CACHEDIR=$PWD/cache APPTAINER_TMPDIR=$PWD
	SOURCE_DATE_EPOCH=1700000000
	export APPTAINER_CACHEDIR APPTAINER_TMPDIR SOURCE_DATE_EPOCH
	apptainer build box.sif "$top/rootfs" || return
	id=$(apptainer sif list box.sif | sed -n 's/^\([0-9]*\) .*Squashfs.*/\1/p')
	apptainer sif dump "$id" box.sif >box.img
}
apptainer_run() { apptainer exec --no-privs box.sif /bin/hello; }
if wanted apptainer; then
	client "$(apptainer --version)" box.img apptainer_build
	for who in theirs ours; do
		t "apptainer runs $who" 0 in_path $who apptainer_run
		shows 'which prints' '^hello from the image'
		t "$who: sqpack finds the image in the SIF file" 0 \
		    sqpack -q -x "$who.out" "$who/box.sif"
		facts "$who.out" >out.facts
		mounted $who/box.img 0 to mnt.facts facts mnt
		same "$who: and extracts it" out.facts mnt.facts
		t "$who: coldwalk finds it" 0 coldwalk --prefix '' \
		    -o sif.sums -f "$who/box.sif"
		t "$who: without the SIF file" 0 coldwalk --prefix '' \
		    -o img.sums -f "$who/box.img"
		same "$who: the same digests" sif.sums img.sums
		at=$(apptainer sif list "$who/box.sif" |
		    sed -n 's/.*|\([0-9]*\)-.*Squashfs.*/\1/p')
		t "$who: touchlog of the mounted partition" 0 mounted \
		    "$who/box.sif" "$at" touchlog -q -f --format list \
		    -o touched --root mnt -- cat mnt/usr/lib/twin
		shows "$who: has the file" 'usr/lib/twin' touched
		t "$who: coldwalk reads what it lists" 0 coldwalk \
		    --files-from touched "$who/box.sif"
	done
else
	skip 'no apptainer'
fi
done_testing
