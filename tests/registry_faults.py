#!/usr/bin/env python3
# registry_faults.py - a proxy before a registry, and its token server, at fault
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: registry_faults.py KEY.pem CERT.pem SEED
#
# Serves both on 127.0.0.1, and prints their ports.  The token server gives
# user:password a token of the registry whose rootcertbundle is CERT.pem.  Each
# line of standard input changes something, and is answered with a line: the
# numbers of replies, of bad ones, of replies 401, of tokens, and of those that
# had expired.
#   upstream PORT       where the registry is
#   bad PERCENT         how many replies are bad
#   tokens LIFE PERCENT how many seconds tokens live, and how many of them have
#                       expired when they are given
import base64
import http.client
import http.server
import json
import random
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

KEY, CERT = sys.argv[1:3]
LEEWAY = 60             # for which the registry takes a token that has expired
DELAY = 0.03            # of each reply, as if it came from far away
STALL = 3
CONNECTION = {'connection', 'keep-alive', 'transfer-encoding', 'date', 'server'}

draw = random.Random(int(sys.argv[3]))
lock = threading.Lock()
state = {'upstream': 0, 'bad': 0, 'life': 300, 'expired': 0}
counts = dict.fromkeys(('replies', 'bad', 'refused', 'tokens', 'expired'), 0)


def count(what):
    with lock:
        counts[what] += 1


def drawn(percent):
    with lock:
        return draw.random() * 100 < percent


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=')


def signed(claims):
    with open(CERT) as f:
        der = ssl.PEM_cert_to_DER_cert(f.read())
    head = {'typ': 'JWT', 'alg': 'RS256',
            'x5c': [base64.b64encode(der).decode()]}
    text = b'.'.join(base64url(json.dumps(x).encode()) for x in (head, claims))
    sign = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', KEY],
                          input=text, stdout=subprocess.PIPE, check=True)
    return (text + b'.' + base64url(sign.stdout)).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 10        # of a connection that is not in use

    def log_message(self, *args):
        pass

    def reply(self, status, body=b'', fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Tokens(Handler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.reply(405)

    def do_GET(self):
        known = 'Basic ' + base64.b64encode(b'user:password').decode()
        if self.headers.get('Authorization') != known:
            return self.reply(401)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        access = []
        for scope in query.get('scope', []):
            kind, name, actions = scope.split(':')
            access.append({'type': kind, 'name': name,
                           'actions': actions.split(',')})
        now, life = int(time.time()), state['life']
        count('tokens')
        if drawn(state['expired']):
            count('expired')
            life = -1
        token = signed({
            'iss': 'tests', 'sub': 'user', 'aud': query['service'][0],
            'iat': now, 'nbf': now, 'exp': now + life - LEEWAY,
            'jti': '%x' % time.time_ns(), 'access': access})
        self.reply(200, json.dumps({'token': token, 'expires_in': life,
                                    'access_token': token}).encode())


class Proxy(Handler):
    def ask(self):
        c = http.client.HTTPConnection('127.0.0.1', state['upstream'],
                                       timeout=60)
        try:
            c.request(self.command, self.path, headers={
                k: v for k, v in self.headers.items()
                if k.lower() not in CONNECTION})
            r = c.getresponse()
            return r.status, r.getheaders(), r.read()
        finally:
            c.close()

    def leave(self):
        self.close_connection = True

    def spoil(self, status, fields, body):
        """Sends a bad reply in the place of a good one."""
        with lock:
            how = draw.choice(('500', '503', '429', 'drop', 'cut', 'stall',
                               'flip'))
            where = draw.randrange(len(body)) if body else 0
            bit = 1 << draw.randrange(8)
        if how == 'drop':
            return self.leave()
        if how.isdigit():
            return self.reply(int(how), b'oops\n',
                              [('Retry-After', '1')] if how == '429' else ())
        if how == 'flip':
            if body:
                body = bytearray(body)
                body[where] ^= bit
            return self.send(status, fields, body)
        self.send(status, fields, body, len(body) // 2)
        self.wfile.flush()
        if how == 'stall':
            time.sleep(STALL)
        self.leave()

    def send(self, status, fields, body, part=None):
        length = str(len(body))
        self.send_response(status)
        for name, value in fields:
            if name.lower() == 'content-length':
                if self.command == 'HEAD':
                    length = value
            elif name.lower() not in CONNECTION:
                self.send_header(name, value)
        self.send_header('Content-Length', length)
        self.end_headers()
        self.wfile.write(body[:part])

    def do_GET(self):
        count('replies')
        time.sleep(DELAY)
        try:
            status, fields, body = self.ask()
        except (OSError, http.client.HTTPException):
            return self.reply(502)
        if status == 401:
            count('refused')
        if drawn(state['bad']):
            count('bad')
            return self.spoil(status, fields, body)
        self.send(status, fields, body)

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().server_bind()

    def handle_error(self, request, address):
        pass            # whoever asked has gone


servers = [Server(('127.0.0.1', 0), handler) for handler in (Proxy, Tokens)]
for s in servers:
    threading.Thread(target=s.serve_forever, daemon=True).start()
print(*(s.server_address[1] for s in servers), flush=True)
for line in sys.stdin:
    what, *numbers = line.split()
    if what == 'tokens':
        state['life'], state['expired'] = map(int, numbers)
    else:
        state[what] = int(numbers[0])
    with lock:
        print(*counts.values(), flush=True)
