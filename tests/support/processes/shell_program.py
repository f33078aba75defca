"""`counterpoint` as a shell finds it in tests (shells.py): the test process starts it, with this one's streams.

It passes signals on, and ends as the program ends. It imports little: scripts start it often.
"""

import json
import os
import signal
import socket
import sys


def main(address: str, arguments: list[str]) -> None:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(address)
    order = {"arguments": arguments, "folder": os.getcwd(), "environ": dict(os.environ)}  # noqa: PTH109
    socket.send_fds(channel, [json.dumps(order).encode()], [0, 1, 2])
    pid = int(channel.recv(20))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    code = int(channel.recv(20))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
