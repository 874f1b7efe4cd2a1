#!/bin/sh
# Tests what is added to an image without root: SELinux labels, and a signature
# of the root hash of dm-verity.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir -p tree/bin tree/etc/ssh tree/empty
echo program >tree/bin/ls
ln tree/bin/ls tree/other
echo 'no label' >tree/etc/none
echo secret >tree/etc/ssh/key
ln -s ls tree/bin/dir
mkfifo tree/pipe
touch -d @1600000000 tree/bin/* tree/etc/* tree
cat >contexts <<'END'
# more specific lines come last
/.*			system_u:object_r:default_t:s0
/bin(/.*)?		system_u:object_r:bin_t:s0
/bin/.*		-l	system_u:object_r:bin_link_t:s0
/etc/none		<<none>>
/etc/ssh/key	--	system_u:object_r:sshd_key_t:s0:c1.c3
/			system_u:object_r:root_t:s0
END

# labels IMAGE: "path label" for each labelled name, by another reader
labels() {
	rdsquashfs -d "$1" >/dev/null 2>&1
	for path in / /bin /bin/ls /bin/dir /etc/none /etc/ssh/key /pipe \
	    /empty; do
		printf '%s %s\n' $path "$(rdsquashfs -x $path "$1" 2>/dev/null |
			sed -n 's/^security\.selinux=//p')"
	done
}
cat >want <<'END'
/ system_u:object_r:root_t:s0
/bin system_u:object_r:bin_t:s0
/bin/ls system_u:object_r:bin_t:s0
/bin/dir system_u:object_r:bin_link_t:s0
/etc/none 
/etc/ssh/key system_u:object_r:sshd_key_t:s0:c1.c3
/pipe system_u:object_r:default_t:s0
/empty system_u:object_r:default_t:s0
END

t 'labels' 0 sqpack -q -F lz4 --selinux contexts -o image tree
if grep -q 'built without libselinux' .t.err; then
	skip 'labels: built without libselinux'
else
	if have rdsquashfs; then
		labels image | tr -d '\000' >got
		same 'of each type, by the last line that matches' got want
	else
		skip 'other reader: rdsquashfs is not installed'
	fi
	(cd tree && tar --sort=name -cf - .) >tree.tar
	t 'of an archive' 0 sqpack -f -q -F lz4 --selinux contexts -o tarred \
	    tree.tar
	t 'the same' 0 sqpack --diff image tarred
	sqpack -q -F lz4 -o plain tree
	t 'of an image' 0 sqpack -f -q -F lz4 --selinux contexts -o copy plain
	t 'the same' 0 sqpack --diff image copy
	printf '%s\n' 'bin/ls x security.selinux=0tother\000' >list
	t 'with a list of attributes' 0 sqpack -f -q -F lz4 --pseudo list \
	    --selinux contexts -o both tree
	t 'the labels come last' 0 sqpack --diff image both
	t 'no such file' 1 sqpack -f -q --selinux nowhere -o none tree
	shows 'is named' 'nowhere: not a valid file_contexts' .t.err
	echo '/bin(/.* system_u:object_r:bin_t:s0' >bad
	t 'no regular expression' 1 sqpack -f -q --selinux bad -o none tree
	t 'no image' 1 test -e none
fi
t 'without attributes' 1 sqpack -f -q --selinux contexts --no-xattrs -o none \
    tree
shows 'is refused' 'cannot be combined with --no-xattrs' .t.err

# The signature
have openssl || skip_all 'openssl is not installed'
openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=a \
    -days 2 2>/dev/null
openssl genrsa -out other-key 2048 2>/dev/null
openssl rsa -aes128 -passout pass:x -in key -out locked 2>/dev/null
rm -f image
t 'signed' 0 sqpack -q -F lz4 --verity --verity-key key --verity-cert cert \
    -o image tree
sed -n 's/^root hash: //p' .t.out | tr -d '\n' >digits
t 'openssl verifies it' 0 openssl smime -verify -inform der -in image.p7s \
    -content digits -certfile cert -nointern -noverify -binary
openssl smime -sign -nocerts -noattr -binary -in digits -inkey key -signer cert \
    -outform der -out theirs
same 'and makes the same' image.p7s theirs
cp image before
cp image.p7s before.p7s
t 'not replaced' 1 sqpack -q -F lz4 --verity --verity-key key \
    --verity-cert cert -o image tree
rm image
t 'nor is the signature' 1 sqpack -q -F lz4 --verity --verity-key key \
    --verity-cert cert -o image tree
t 'there is no image' 1 test -e image
same 'and the old signature' image.p7s before.p7s
t 'the same again' 0 sqpack -f -q -F lz4 --verity --verity-key key \
    --verity-cert cert -o image tree
same 'signature' image.p7s before.p7s
rm -f none none.p7s
for pair in other-key:cert key:key cert:cert nowhere:cert key:nowhere \
    locked:cert; do
	t "refused: $pair" 1 sqpack -q -F lz4 --verity \
	    --verity-key "${pair%:*}" --verity-cert "${pair#*:}" -o none tree \
	    </dev/null
	cp .t.err said
	t 'leaves nothing' 1 test -e none -o -e none.p7s
done
shows 'a passphrase is not asked for' 'without a passphrase' said
t 'a key alone' 1 sqpack -q --verity --verity-key key -o none tree
t 'a certificate alone' 1 sqpack -q --verity --verity-cert cert -o none tree
t 'without a tree' 1 sqpack -q --verity-key key --verity-cert cert -o none tree
done_testing
