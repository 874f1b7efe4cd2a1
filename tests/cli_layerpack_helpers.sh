#!/bin/sh
# layerpack --pull with credentials from helper programs, good and bad ones.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/certs.sh
. "$SRC/tests/certs.sh"

for tool in layerpack openssl python3; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --pull || skip_all 'layerpack has no --pull'
python3 -c 'import ssl' 2>/dev/null || skip_all 'Python has no ssl'
certs_make || skip_all 'openssl makes no certificates'
certs_serve || skip_all 'no server'
unset https_proxy HTTPS_PROXY all_proxy ALL_PROXY
mkdir home helpers
export HOME="$PWD/home" CONTAINERS_REGISTRIES_CONF=/dev/null
unset REGISTRY_AUTH_FILE
PATH=$PWD/helpers:$PATH

for name in basic token; do
	mkdir -p hosts/$name.test
	eval "port=\$port_$name"
	echo "server = 'https://127.0.0.1:$port'" >hosts/$name.test/hosts.toml
	echo "ca = '$PWD/ca.pem'" >>hosts/$name.test/hosts.toml
done
mkdir hosts/plain.test
echo "server = 'https://127.0.0.1:$port_plain'" >hosts/plain.test/hosts.toml
echo "ca = '$PWD/ca.pem'" >>hosts/plain.test/hosts.toml
basic=127.0.0.1:$port_basic token=127.0.0.1:$port_token

# helper NAME: makes one of the script in standard input
helper() {
	{
		echo '#!/bin/sh'
		cat
	} >"helpers/docker-credential-$1"
	chmod 755 "helpers/docker-credential-$1"
}
# auth JSON: the file of credentials
auth() { echo "$1" >auth.json; }
pull() {
	layerpack --timeout 20 --hosts-dir hosts --authfile auth.json \
	    --pull "docker://$1.test/i:t" -o out
}
: >all.err
pulled() {
	t "$2" 0 pull "$1"
	cat .t.err >>all.err
	t "$2: it is whole" 0 diff -r tree out
	rm -rf out
}
refused() {
	t "$2" 1 pull "$1"
	cat .t.err >>all.err
	shows "$2: is refused" "$3" .t.err
	t "$2: nothing is there" 0 test ! -e out
}

helper good <<END
echo "\$# \$1" >>'$PWD/calls'
cat >>'$PWD/calls'
echo >>'$PWD/calls'
echo '{"ServerURL":"x","Username":"user","Secret":"swordfish"}'
END
helper never <<END
echo "never" >>'$PWD/calls'
exit 1
END
helper none <<END
echo 'credentials not found in native keychain'
exit 1
END
right=$(printf user:swordfish | base64) wrong=$(printf user:wrong | base64)

# Which one is asked, and how
auth "{\"credHelpers\":{\"$basic\":\"good\",\"x\":\"never\"},\"credsStore\":\"never\",
\"auths\":{\"$basic\":{\"auth\":\"$wrong\"}}}"
pulled basic "the host's helper"
is 'it is asked once' "$(cat calls)" "$(printf '1 get\n%s' "$basic")"
t 'a server that does not ask' 0 pull plain
rm -rf out
is 'asks nobody' "$(wc -l <calls)" 2
auth "{\"credsStore\":\"never\",\"auths\":{\"https://$basic/v2/\":{\"auth\":\"$right\"}}}"
pulled basic 'the file'
is 'asks nobody, either' "$(wc -l <calls)" 2
auth "{\"credsStore\":\"good\",\"auths\":{\"$basic\":{}}}"
pulled basic 'the helper for the rest'
is 'is asked for the server' "$(tail -n 1 calls)" "$basic"
auth "{\"credHelpers\":{\"$basic\":\"none\"},\"auths\":{\"$basic\":{\"auth\":\"$right\"}}}"
refused basic 'a helper that has none' 'the server asks for credentials'
auth "{\"credHelpers\":{\"$token\":\"good\"}}"
: >tls.log
pulled token 'a token server'
shows 'gets the password' '^plain GET /token.*auth=Basic' tls.log

if have layermount; then
	auth "{\"credHelpers\":{\"$basic\":\"good\"}}"
	t 'layermount --probe' 0 layermount --probe --authfile auth.json \
	    --hosts-dir hosts docker://basic.test/i:t
	shows 'asks, too' '^range.yes'
else
	skip 'no layermount'
fi

# Programs that are of no use
auth "{\"credHelpers\":{\"$basic\":\"missing\"}}"
refused basic 'no program' \
    'docker-credential-missing cannot be run: No such file'
for name in ../good 'a b' "a'b" ''; do
	auth "{\"credHelpers\":{\"$basic\":\"$name\"}}"
	if [ -n "$name" ]; then
		refused basic "the name '$name'" \
		    "expected letters, digits, .* found '"
	else
		refused basic 'no name' 'the server asks for credentials'
	fi
done
auth "{\"credHelpers\":{\"$basic\":\"bad\"}}"
helper bad <<'END'
echo '{"Username":"user","Secret":"swordfish"}'
printf 'the keyring \033[1m is locked\nmore\n' >&2
exit 3
END
refused basic 'a failure' \
    'docker-credential-bad ended with status 3: the keyring ?\[1m is locked$'
helper bad <<'END'
kill -9 $$
END
refused basic 'a signal' 'docker-credential-bad was ended by signal 9'
helper bad <<'END'
echo 'swordfish: is no JSON'
END
refused basic 'no JSON' 'is of no use: its answer is not a JSON object'
helper bad <<'END'
echo '{"Username":"user","Secret":"swordfish"'
END
refused basic 'half of it' 'is of no use: its answer is not a JSON object'
helper bad <<'END'
echo '{"Username":["swordfish"],"Secret":7}'
END
refused basic 'other types' 'has no Username or no Secret'
helper bad <<'END'
echo '{"Username":"","Secret":""}'
END
refused basic 'empty ones' 'the server asks for credentials'
helper bad <<'END'
echo '{"Username":"us:er","Secret":"swordfish"}'
END
refused basic 'a colon' "the user's name from the credential helper contains"
helper bad <<'END'
head -c 1000000 /dev/zero | tr '\0' x
echo swordfish
END
refused basic 'a megabyte' 'was killed: expected at most 64 KiB, found more'
helper bad <<'END'
printf '{"Username":"user","Secret":"swordfish","x":"'
head -c 65000 /dev/zero | tr '\0' x
echo '"}'
END
pulled basic 'much, but not too much'
helper bad <<'END'
head -c 1000000 /dev/zero | tr '\0' x >&2
echo '{"Username":"user","Secret":"swordfish"}'
END
pulled basic 'a megabyte of messages'
helper bad <<END
echo \$\$ >'$PWD/pid'
sleep 1000 &
echo \$! >>'$PWD/pid'
wait
END
begin=$(date +%s)
refused basic 'one that hangs' \
    'docker-credential-bad was killed after 10 s without an answer'
took=$(($(date +%s) - begin))
t 'in time' 0 test $took -lt 20
await gone "$(head -n 1 pid)"
await gone "$(tail -n 1 pid)"
ok 'nothing of it is left'
helper bad <<END
sleep 1000 &
echo \$! >'$PWD/pid'
echo '{"Username":"user","Secret":"swordfish"}'
END
begin=$(date +%s)
pulled basic 'one that leaves a process'
t 'which nobody waits for' 0 test $(($(date +%s) - begin)) -lt 10
kill "$(cat pid)"

# If the tool is killed, so is what it has started
helper bad <<END
echo \$\$ >'$PWD/pid'
sleep 1000
END
rm -f pid
pull basic 2>/dev/null &
tool=$!
await test -s pid
kill -9 "$(ps -o pid= --ppid $tool | head -n 1)" 2>/dev/null || kill -9 $tool
wait $tool 2>/dev/null
await gone "$(cat pid)"
ok 'a killed pull leaves no helper'

# Identity tokens
auth "{\"credHelpers\":{\"$token\":\"identity\",\"$basic\":\"identity\"}}"
helper identity <<'END'
echo '{"Username":"<token>","Secret":"identity+swordfish/="}'
END
: >tls.log
pulled token 'an identity token'
shows 'is sent in a form' '^plain POST /token cert=no .*auth=None' tls.log
t 'which is not in the URL' 1 grep -q swordfish tls.log
refused basic 'where a password is needed' 'only an identity token is known'
: >post-moves
: >tls.log
refused token 'it does not follow a redirect' 'status 307'
t 'to anywhere' 1 grep -q '^basic' tls.log
rm post-moves

# those of the file, which Docker writes beside a user without a password
entry='{"auth":"bm9ib2R5Og==","identitytoken":"identity+swordfish/="}'
auth "{\"auths\":{\"$token\":$entry,\"$basic\":$entry}}"
: >tls.log
pulled token 'an identity token in the file'
shows 'is sent in a form without the user' \
    '^plain POST /token cert=no .*auth=None' tls.log
refused basic 'and the user where a password is needed' 'status 401'
auth "{\"auths\":{\"$basic\":{\"identitytoken\":\"identity+swordfish/=\"}}}"
refused basic 'which it does not replace' 'only an identity token is known'
auth "{\"auths\":{\"$basic\":{\"auth\":\"$right\",\"identitytoken\":\"\"}}}"
pulled basic 'an empty identity token, which is none'

t 'no message has the password' 1 grep -q swordfish all.err
done_testing
