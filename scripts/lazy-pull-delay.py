# lazy-pull-delay.py - a proxy that delays traffic as if the server were distant
# SPDX-License-Identifier: BSD-2-Clause
"""lazy-pull-delay.py ADDRESS PORT SERVER-PORT MS

Forwards connections from ADDRESS:PORT to ADDRESS:SERVER-PORT.  All bytes arrive
half of MS late, in both directions, and the first bytes of a client another MS
later, the time in which its connection would have been established.  Nothing is
slowed down otherwise.  A line on standard output says that it listens.

The kernel's netem would do this better, but not every kernel has it.  What
servers have (limit_rate of nginx) lowers the rate, but delays nothing, and
socat forwards at once.
"""
import asyncio
import sys


async def forward(reader, writer, delay, first):
    """Copies what is read, delayed; ends the writer with the reader."""
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue(1024)

    async def receive():
        late = delay + first
        due = 0
        while True:
            data = await reader.read(65536)
            # later bytes must not overtake earlier ones
            due = max(due, loop.time() + late)
            late = delay
            await queue.put((due, data))
            if not data:
                return

    receiver = asyncio.create_task(receive())
    try:
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        receiver.cancel()
        writer.close()


async def main(address, port, server_port, ms):
    delay = ms / 2000

    async def connected(reader, writer):
        far_reader, far_writer = await asyncio.open_connection(
            address, server_port)
        await asyncio.gather(
            forward(reader, far_writer, delay, 2 * delay),
            forward(far_reader, writer, delay, 0))
        writer.close()
        far_writer.close()

    server = await asyncio.start_server(connected, address, port)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]),
                 int(sys.argv[4])))
