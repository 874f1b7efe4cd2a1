#!/bin/sh
# layermount rejects bad certificates, and reads through proxies and over
# HTTP/2.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"

have openssl || skip_all 'no openssl'

# certificate NAME HOST DAYS: creates NAME.pem, with its key
certificate() {
	echo "subjectAltName=$2" >ext
	openssl x509 -req -in csr -signkey key -days "$3" -extfile ext \
	    -out cert 2>openssl.err && cat cert key >"$1.pem" &&
	    cat cert >>trusted.pem
}
openssl req -newkey rsa:2048 -nodes -keyout key -out csr -subj /CN=test \
    2>openssl.err
if ! certificate good IP:127.0.0.1 2 || ! certificate other IP:127.0.0.2 2; then
	skip_all 'openssl makes no certificates'
fi
if ! certificate old IP:127.0.0.1 -1 ||
    openssl x509 -in old.pem -noout -checkend 0 >/dev/null; then
	rm -f old.pem
fi
secure=https${url#http}

for c in old other; do
	[ -e $c.pem ] || {
		skip "$c: openssl makes no such certificate"
		continue
	}
	mode tls $c.pem
	t "$c: a mount" 1 start --cacert trusted.pem "$secure"
	shows 'is refused' 'SSL' .t.err
	await unmounted
	mode tls good.pem
	t "$c: a good one" 0 start --cacert trusted.pem --prefetch none \
	    "$secure"
	ls -R mnt >/dev/null
	mode tls $c.pem
	survived "$c" EIO
	mode tls good.pem
	survived "$c: renewed" right
	stop
done
t 'an untrusted certificate' 1 start "$secure"

# Through a proxy
mode tls -
for scheme in http https; do
	[ $scheme = http ] || mode tls good.pem
	for m in cuts resets stalls refuses; do
		mode proxy-good 1
		t "$scheme, $m: mounted" 0 env "${scheme}_proxy=$proxy" \
		    no_proxy= layermount --timeout 3 --cacert trusted.pem \
		    --prefetch none "$scheme${url#http}" "$PWD/mnt"
		ls -R mnt >/dev/null
		case $m in
		cuts | resets)
			mode proxy-$m 2
			what mnt >got
			same "$scheme, $m: the right bytes" got want ;;
		*)
			mode proxy-$m 1
			mode tls "$([ $scheme = http ] && echo - ||
			    echo good.pem)"	# closes connections
			survived "$scheme, $m"
			large "$scheme, $m" ;;
		esac
		mode proxy-good 1
		survived "$scheme, $m: afterwards" right
		stop
	done
done

# nginx as an HTTP/2 server
have nginx || {
	skip 'no nginx'
	done_testing
	exit
}
# nginx cannot choose a port itself
h2=$((20000 + $$ % 20000))
cat >nginx.conf <<END
pid $PWD/nginx.pid;
error_log $PWD/nginx.log;
events {}
http {
	access_log off;
	client_body_temp_path $PWD; proxy_temp_path $PWD;
	fastcgi_temp_path $PWD; uwsgi_temp_path $PWD; scgi_temp_path $PWD;
	ssl_certificate $PWD/good.pem; ssl_certificate_key $PWD/good.pem;
	# each connection ends after a few requests
	keepalive_requests 7;
	server { listen 127.0.0.1:$h2 ssl http2; root $PWD/served; }
}
user root;
END
if ! nginx -c "$PWD/nginx.conf" 2>nginx.err; then
	skip "nginx does not listen on port $h2, or has no HTTP/2"
	done_testing
	exit
fi
end_nginx() { [ ! -s nginx.pid ] || kill "$(cat nginx.pid)"; }
trap 'umount -l mnt 2>/dev/null; end_nginx' EXIT
url2=https://127.0.0.1:$h2/blob
t 'an HTTP/2 server' 0 layermount --probe --cacert trusted.pem "$url2"
shows 'is recognized' 'HTTP/2'
t 'it is mounted' 0 start --cacert trusted.pem --prefetch none "$url2"
what mnt >got
same 'the right bytes' got want
stop
# the nginx worker is killed repeatedly
t 'it is mounted' 0 start --cacert trusted.pem --prefetch none "$url2"
(while sleep 0.05; do pkill -9 -P "$(cat nginx.pid)"; done) 2>/dev/null &
killer=$!
what mnt >got
kill $killer
same 'while its connections break: the right bytes' got want
stop
t 'it is mounted' 0 start --cacert trusted.pem --prefetch none "$url2"
ls -R mnt >/dev/null
pid=$(cat nginx.pid)
kill "$pid"
await gone "$pid"
survived 'no server' EIO
nginx -c "$PWD/nginx.conf"
survived 'the server again' right
stop
done_testing
