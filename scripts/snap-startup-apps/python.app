# Used by --quick: the libraries of this machine's Python, without a window.
generate=python
host=yes
criterion=line
match=^ready$
command=PYTHONHOME="$ROOT/usr" exec python3 -c 'import json, decimal, asyncio, email.message, xml.dom.minidom, unittest; print("ready", flush=True); import time; time.sleep(300)'
