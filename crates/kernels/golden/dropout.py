"""Dropout masks from the description in docs/models.md: the golden values in crates/kernels/tests/dropout.rs.

    python3 crates/kernels/golden/dropout.py
"""

MASK_32 = 0xFFFFFFFF


def bits(k0, k1, n):
    x = (n + k0) & MASK_32
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK_32
    x ^= x >> 15
    x = (x + k1) & MASK_32
    x = x * 0x846CA68B & MASK_32
    return x ^ x >> 16


def kept(k0, k1, first, row, column, columns, rate):
    """Whether an entry of a place is kept, whose first pair has the number `first`."""
    n = first + row * ((columns + 1) // 2) + column // 2
    half = bits(k0, k1, n) >> 16 * (column % 2) & 0xFFFF
    return half >= int(rate * 65536 + 0.5)


print("masks_keep_their_values, one row per line:")
for row in range(4):
    print([int(kept(0x12345678, 0x9ABCDEF0, 1000, row, column, 7, 0.3)) for column in range(7)])
