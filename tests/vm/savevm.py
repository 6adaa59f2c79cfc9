#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""savevm.py SOCKET: tell the machine's monitor to save the snapshot "ready" and to end."""
import socket
import sys

PROMPT = b"(qemu) "


def say(monitor, command):
    """Send a command and wait for the prompt that follows its answer."""
    monitor.sendall(command + b"\n")
    answer = b""
    while not answer.endswith(PROMPT):
        data = monitor.recv(65536)
        if not data:
            sys.exit("savevm.py: the machine ended too early")
        answer += data
    if b"Error" in answer:
        sys.exit(f"savevm.py: {answer.decode(errors='replace')}")


with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    greeting = b""
    while not greeting.endswith(PROMPT):
        greeting += connection.recv(65536)
    say(connection, b"savevm ready")
    connection.sendall(b"quit\n")
    while connection.recv(65536):
        pass
