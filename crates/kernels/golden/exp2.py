"""Coefficients of the polynomial of degree 5 through 2^f at the six Chebyshev points of [-1/2, 1/2].

Run: python3 crates/kernels/golden/exp2.py
"""
from fractions import Fraction
from math import cos, pi

points = [0.5 * cos(pi * (2 * i + 1) / 12) for i in range(6)]
rows = [[Fraction(x) ** k for k in range(6)] + [Fraction(2.0 ** x)] for x in points]
for i in range(6):  # Gauss-Jordan elimination, exact
    pivot = rows[i][i]
    rows[i] = [v / pivot for v in rows[i]]
    for j in range(6):
        if j != i:
            rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i])]
coefficients = [float(row[6]) for row in rows]
print(coefficients)
error = max(abs(sum(c * x ** k for k, c in enumerate(coefficients)) / 2.0 ** x - 1)
            for x in [i / 20000 - 0.5 for i in range(20001)])
print("largest relative error %.2e" % error)
