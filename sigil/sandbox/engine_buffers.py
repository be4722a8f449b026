"""Where the JavaScript engine takes a call's input and puts its output, once an image of it was
taken: no call is needed to ask.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

TWO = struct.Struct("<2I")
"""Two of a guest's pointers or sizes."""
_DOOR = struct.Struct("<5I")


class Door(NamedTuple):
    """Addresses in the guest's memory: of the `room` bytes for an input, of the output's place and
    length, of the end of what it needs.
    """

    input: int
    room: int
    output: int
    end: int

    @classmethod
    def at(cls, address: int, memory: bytes) -> Door:
        """The door at `address`, as shim.c lays it out: input, its room, output, its length, the
        end.
        """
        pointer, room, _, _, end = _DOOR.unpack_from(memory, address)
        return cls(pointer, room, address + TWO.size, end)

    def fits(self, memory: int) -> bool:
        """Whether all of it lies in a memory of so many bytes: then it need not be asked again, for
        a memory never shrinks.
        """
        return (
            self.end <= memory
            and self.input + self.room < self.end
            and self.output + TWO.size <= self.end
        )
