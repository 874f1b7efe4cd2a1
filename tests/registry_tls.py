#!/usr/bin/env python3
# registry_tls.py - registries that speak TLS, each with a demand of its own
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: registry_tls.py DIR SERVER.pem CLIENT-CA.pem
#
# Serves ./DIR on 127.0.0.1, prints a line with the name and the port of each
# server, and then adds a line to the file tls.log for each request: server,
# method, path, and what the client showed.
import base64
import http.server
import json
import os
import re
import socket
import ssl
import sys
import threading
import urllib.parse

root, pem, client_ca = sys.argv[1:4]
ports = {}
lock = threading.Lock()


def basic():
    """What the user sends, whose password is in a file, if there is one."""
    password = 'swordfish'
    if os.path.exists('password'):
        with open('password') as f:
            password = f.read().strip()
    return 'Basic ' + base64.b64encode(('user:' + password).encode()).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def note(self):
        shown = self.connection.getpeercert()
        with lock, open('tls.log', 'a') as log:
            print(self.server.name, self.command, self.path,
                  'cert=' + ('yes' if shown else 'no'),
                  'pass=' + str(self.headers.get('X-Pass')),
                  'auth=' + str(self.headers.get('Authorization')),
                  'accept=' + str(self.headers.get_all('Accept')),
                  file=log)

    def reply(self, status, body=b'', **fields):
        self.send_response(status)
        for name in fields:
            self.send_header(name.replace('_', '-'), fields[name])
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self):
        path = root + self.path.split('?')[0]
        if '..' in path or not os.path.isfile(path):
            return self.reply(404)
        with open(path, 'rb') as f:
            body = f.read()
        span = re.fullmatch(r'bytes=(\d+)-(\d+)',
                            self.headers.get('Range', ''))
        if span:
            first, last = int(span.group(1)), int(span.group(2))
            return self.reply(206, body[first:last + 1],
                              Content_Range='bytes %d-%d/%d' %
                              (first, min(last, len(body) - 1), len(body)))
        kind = 'application/vnd.oci.image.manifest.v1+json'
        self.reply(200, body, Content_Type=kind)

    def moved(self, to):
        self.reply(307, Location='https://127.0.0.1:%d%s' %
                   (ports[to], self.path))

    def do_GET(self):
        self.note()
        name, authorization = self.server.name, self.headers.get(
            'Authorization')
        if self.path.startswith('/token'):
            if os.path.exists('token-moves') and name == 'plain':
                return self.moved('basic')
            return self.reply(200, b'{"token":"%s"}' % (
                b'known' if authorization == basic() else b'unknown'))
        if name == 'header':
            if self.headers.get('X-Pass') != 'sesame':
                return self.reply(403)
            if '/blobs/' in self.path:
                return self.moved('plain')
        if name == 'basic' and authorization != basic():
            return self.reply(401, WWW_Authenticate='Basic realm="x"')
        if name == 'token' and authorization != 'Bearer known':
            return self.reply(
                401, WWW_Authenticate='Bearer realm="https://127.0.0.1:%d'
                '/token",service="s",scope="repository:i:pull"' %
                ports['plain'])
        self.file()

    def do_POST(self):
        self.note()
        text = self.rfile.read(int(self.headers['Content-Length'])).decode()
        form = urllib.parse.parse_qs(text)
        if os.path.exists('post-moves'):
            return self.moved('basic')
        right = form == {
            'grant_type': ['refresh_token'], 'client_id': ['coldpress'],
            'service': ['s'], 'scope': ['repository:i:pull'],
            'refresh_token': ['identity+swordfish/=']}
        self.reply(200 if right else 401,
                   json.dumps({'access_token': 'known'}).encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, name):
        self.name = name
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(pem)
        self.tls.load_verify_locations(client_ca)
        self.tls.verify_mode = ssl.CERT_REQUIRED if name == 'client' else \
            ssl.CERT_OPTIONAL
        super().__init__(('127.0.0.1', 0), Handler)
        ports[name] = self.server_address[1]

    # the handshake is for the connection's thread
    def finish_request(self, request, address):
        raw = os.dup(request.fileno())
        try:
            request = self.tls.wrap_socket(request, server_side=True)
            super().finish_request(request, address)
            request.unwrap().close()
        except OSError:
            # a reset could overtake the alert
            self.drain(socket.socket(fileno=os.dup(raw)))
        finally:
            os.close(raw)

    def drain(self, s):
        with s:
            try:
                s.shutdown(socket.SHUT_WR)
                s.settimeout(5)
                while s.recv(65536):
                    pass
            except OSError:
                pass

    def handle_error(self, request, address):
        pass


for name in 'client', 'plain', 'header', 'basic', 'token':
    threading.Thread(target=Server(name).serve_forever, daemon=True).start()
    print(name, ports[name], flush=True)
sys.stdin.read()
