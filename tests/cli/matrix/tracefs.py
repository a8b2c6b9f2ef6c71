# SPDX-License-Identifier: MIT
"""The fields of a tracepoint, read from its format file and a payload without any help of coati."""
import os
import re

TRACING = "/sys/kernel/tracing"
FIELD = re.compile(r"^\tfield:(.*?)\b(\w+)(\[\d*\])?;\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")


def format_of(event):
    """[(name, declaration, is_array, offset, size, is_signed)] of GROUP:NAME, without the common fields."""
    path = os.path.join(TRACING, "events", event.replace(":", "/"), "format")
    if ":" not in event or not os.path.exists(path):
        return None
    with open(path, encoding="ascii") as file:
        rows = [FIELD.match(line) for line in file]
    return [(m.group(2), m.group(1), bool(m.group(3)), int(m.group(4)), int(m.group(5)), m.group(6) == "1")
            for m in rows if m and not m.group(2).startswith("common_")]


def text_of(data):
    return data.split(b"\0")[0].decode("utf-8", "replace")


def values_of(event, payload):
    """{name: number or text}; arrays of other things are left out."""
    values = {}
    for name, declaration, is_array, offset, size, is_signed in format_of(event) or ():
        if "__data_loc" in declaration:
            where = int.from_bytes(payload[offset:offset + 4], "little")
            if "char" in declaration:
                start = where & 0xFFFF
                values[name] = text_of(payload[start:start + (where >> 16)])
        elif is_array:
            if declaration.strip() == "char":
                values[name] = text_of(payload[offset:offset + size])
        elif size in (1, 2, 4, 8):
            values[name] = int.from_bytes(payload[offset:offset + size], "little", signed=is_signed)
    return values
