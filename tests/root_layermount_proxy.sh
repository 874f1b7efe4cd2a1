#!/bin/sh
# A layer on a real web server is read through real HTTP proxies, which the
# environment names as for curl.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
for tool in squid nginx openssl; do
	have $tool || skip_all "no $tool"
done
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"
# shellcheck source=scripts/lazy-pull-services.sh
. "$SRC/scripts/lazy-pull-services.sh"

end_all() {
	umount -l mnt 2>/dev/null
	# shellcheck disable=SC2086
	[ -z "$services" ] || kill -s TERM $services && kill -s CONT $services
}
trap end_all EXIT
# squid runs as its own user, which writes the log and reads the passwords
log=$PWD/log
mkdir "$log"
chown proxy "$log" || skip_all 'no user proxy'
chmod 711 .

# nginx and the proxies cannot choose ports themselves
port=$((10000 + $$ % 5000))
secure_port=$((port + 5000)) squid_port=$((port + 10000))
tiny_port=$((port + 15000))
openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert.pem -days 2 \
    -subj /CN=test -addext subjectAltName=IP:127.0.0.1 2>openssl.err ||
    skip_all 'openssl makes no certificate'
nginx_start "$PWD" <<END
	server { listen 127.0.0.1:$port; root $PWD/served; }
	server {
		listen 127.0.0.1:$secure_port ssl; root $PWD/served;
		ssl_certificate $PWD/cert.pem; ssl_certificate_key $PWD/key;
	}
END

# squid_again [DIRECTIVE...]: starts squid, with additional directives
squid_again() {
	{
		echo "access_log stdio:$log/squid"
		printf '%s\n' "$@"
	} >directives
	: >"$log/squid"
	chown proxy "$log/squid"
	squid_start "$PWD" 127.0.0.1 $squid_port directives
	squid=$!
}
end_squid() {
	kill -9 "$squid"
	wait "$squid" 2>/dev/null
	services=${services% "$squid"}
}

# through PROXY NO_PROXY COMMAND...: runs it with this environment
through() {
	through_proxy=$1 through_not=$2
	shift 2
	env -u all_proxy -u ALL_PROXY -u HTTPS_PROXY -u NO_PROXY \
	    http_proxy="$through_proxy" https_proxy="$through_proxy" \
	    no_proxy="$through_not" "$@"
}
# begin SCHEME PROXY [NO_PROXY]: mounts the layer
begin() {
	rm -f stats
	begin_port=$port
	[ "$1" = http ] || begin_port=$secure_port
	through "$2" "${3-}" layermount --timeout 3 --prefetch none \
	    --stats=stats --cacert cert.pem "$1://127.0.0.1:$begin_port/blob" \
	    "$PWD/mnt"
}
# lines METHOD: prints the number of requests in squid's log
lines() { grep -c " $1 " "$log/squid"; }
# sent: prints the number of bytes that it sent
sent() { awk '{ n += $5 } END { print n + 0 }' "$log/squid"; }
# all NAME: all data is right
all() {
	what mnt >got
	same "$1: the right bytes" got want
	stop
}

squid_again
proxy=http://127.0.0.1:$squid_port
t 'http: a mount' 0 begin http "$proxy"
all http
is 'http: every request is in the log of squid' "$(lines GET)" \
    "$(field requests)"
t 'http: squid forwarded every byte' 0 test "$(sent)" -ge "$(field wire_B)"
t 'http: and the layer was read' 0 test "$(sent)" -gt 3000000
: >"$log/squid"
t 'https: a mount' 0 begin https "$proxy"
all https
t 'https: the log of squid has a tunnel' 0 \
    grep -q "TCP_TUNNEL/200 [0-9]* CONNECT 127.0.0.1:$secure_port " "$log/squid"
t 'https: squid forwarded every byte' 0 test "$(sent)" -ge "$(field wire_B)"
t 'https: and the layer was read' 0 test "$(sent)" -gt 3000000
: >"$log/squid"
for scheme in http https; do
	t "$scheme, no_proxy: a mount" 0 begin $scheme "$proxy" \
	    example.org,127.0.0.1
	all "$scheme, no_proxy"
done
is 'no_proxy: squid receives nothing' "$(cat "$log/squid")" ''

# fails HOW: reads fail within the time-out of 3 s; the kernel repeats a read
# that failed
fails() {
	fails_from=$(date +%s)
	is "$1: EIO" "$(mkdir -p got.d && read_one 1)" EIO
	t "$1: in time" 0 test $(($(date +%s) - fails_from)) -le 30
	t "$1: a large file" 1 cat mnt/big
	shows "$1: EIO, too" 'Input/output error' .t.err
}
# watch SCHEME: mounts with messages to the file said
watch() {
	begin_port=$port
	[ "$1" = http ] || begin_port=$secure_port
	through "$proxy" '' layermount -f --timeout 3 --prefetch none \
	    --cacert cert.pem "$1://127.0.0.1:$begin_port/blob" "$PWD/mnt" \
	    2>said &
	await mounted
	await test -e mnt/many
	ls -R mnt >/dev/null
}
for scheme in http https; do
	watch $scheme
	kill -s STOP "$squid"
	fails "$scheme: squid is stopped"
	shows "$scheme: the message names it" \
	    "${scheme}_proxy is 127.0.0.1:$squid_port" said
	kill -s CONT "$squid"
	survived "$scheme: it continues" right
	stop
	watch $scheme
	end_squid
	fails "$scheme: squid is killed"
	shows "$scheme: the message names it" \
	    "${scheme}_proxy is 127.0.0.1:$squid_port" said
	squid_again
	survived "$scheme: it is started again" right
	stop
done
end_squid
t 'no proxy there: a mount' 1 begin http "$proxy"
shows 'no proxy there: the message names it' \
    "http_proxy is 127.0.0.1:$squid_port" .t.err
await unmounted

# A proxy that requires a password
helper=$(squid -v | sed -n "s/.*'--libexecdir=\([^']*\)'.*/\1/p" | head -n 1)
helper=$helper/basic_ncsa_auth
if [ -x "$helper" ]; then
	echo "user:$(openssl passwd -apr1 'gr@pe')" >"$log/passwords"
	squid_again "auth_param basic program $helper $log/passwords" \
	    'acl known proxy_auth REQUIRED' 'http_access deny !known'
	for scheme in http https; do
		: >"$log/squid"
		t "$scheme, password: a mount" 0 begin $scheme \
		    "http://user:gr%40pe@127.0.0.1:$squid_port"
		all "$scheme, password"
		t "$scheme, password: squid knows the user" 0 \
		    grep -q ' user HIER_DIRECT/' "$log/squid"
		is "$scheme, password: not in the statistics" \
		    "$(grep -c -e user: -e gr.*pe stats)" 0
		for bad in user:plum@ plum:gr%40pe@ ''; do
			t "$scheme, '$bad': no mount" 1 begin $scheme \
			    "http://${bad}127.0.0.1:$squid_port"
			shows "$scheme, '$bad': names the proxy" \
			    "${scheme}_proxy is 127.0.0.1:$squid_port" .t.err
			is "$scheme, '$bad': without credentials" "$(cat \
			    .t.err stats 2>/dev/null | grep -c -e user: \
			    -e plum -e gr.*pe)" 0
			await unmounted
		done
	done
	end_squid
else
	skip "password: no $helper"
fi

if have tinyproxy; then
	cat >tinyproxy.conf <<END
Port $tiny_port
Listen 127.0.0.1
Timeout 60
LogLevel Info
END
	: >tinyproxy.log
	tinyproxy -d -c tinyproxy.conf >>tinyproxy.log 2>&1 &
	service_wait tinyproxy.log grep -q 'Accepting connections' tinyproxy.log
	proxy=http://127.0.0.1:$tiny_port
	for scheme in http https; do
		method=GET
		[ $scheme = http ] || method=CONNECT
		t "$scheme, tinyproxy: a mount" 0 begin $scheme "$proxy"
		all "$scheme, tinyproxy"
		shows "$scheme, tinyproxy: its log has the requests" \
		    "Request .*: $method .*127.0.0.1" tinyproxy.log
	done
else
	skip 'no tinyproxy'
fi
exec 3>&-
done_testing
