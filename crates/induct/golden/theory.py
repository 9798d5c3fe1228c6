"""Golden values for the room `theory`, by means that share nothing with it.

Small t: every sequence is enumerated and its probability kept as a polynomial in x = 1 - a and y = 1 - b with rational
coefficients. The stationary start brings a factor 1/(x + y), and the integral of x^i y^j / (x + y) over the unit square is
p + q ln 2 with rational p and q: no quadrature, no rounding.

t = 100: the powers of P by its eigenvalue, in 50 digits, and the tanh-sinh rule.

Needs mpmath. Prints Rust constants.
"""

from fractions import Fraction
from itertools import product

from mpmath import mp, mpf

mp.dps = 50


# --- exact: numbers p + q ln 2 as pairs ---------------------------------------------------------------------------------

def moment(i, j, known={}):
    """Integral of x^i y^j / (x + y) over the unit square."""
    if (i, j) not in known:
        if j == 0:
            # ∫ x^i ln((1 + x)/x) dx, by parts
            m = i + 1
            series = sum(Fraction((-1) ** (k + 1), k) for k in range(1, m + 1))
            sign = (-1) ** m
            tail = (-sign * series, Fraction(sign))  # ∫ x^m / (1 + x) dx
            known[i, j] = (Fraction(1, m * m) - tail[0] / m, (1 - tail[1]) / m)
        else:
            p, q = moment(i + 1, j - 1)
            known[i, j] = (Fraction(1, (i + 1) * j) - p, -q)
    return known[i, j]


def times(a, b):
    out = {}
    for (i, j), u in a.items():
        for (k, l), v in b.items():
            out[i + k, j + l] = out.get((i + k, j + l), 0) + u * v
    return out


P = [[{(0, 0): 1, (1, 0): -1}, {(1, 0): 1}], [{(0, 1): 1}, {(0, 0): 1, (0, 1): -1}]]
START = [{(0, 1): 1}, {(1, 0): 1}]  # times 1/(x + y)


def coupling_exact(t):
    """C[lag][m][l] as pairs."""
    out = [[[(Fraction(0), Fraction(0)) for _ in range(2)] for _ in range(2)] for _ in range(t)]
    for x in product(range(2), repeat=t + 1):
        polynomial = START[x[0]]
        for s in range(t):
            polynomial = times(polynomial, P[x[s]][x[s + 1]])
        pairs = [(u, moment(*e)) for e, u in polynomial.items()]
        weight = (sum(u * m[0] for u, m in pairs), sum(u * m[1] for u, m in pairs))
        for p in range(t):
            for q in range(p + 1):
                # f_y counts for the loss with weight -1 + 1/2, f_i with 1/2
                sign = Fraction(1, 2) if x[q] == x[p + 1] else Fraction(-1, 2)
                for s in range(q + 1):
                    c = out[q - s][x[p]][x[s]]
                    out[q - s][x[p]][x[s]] = tuple(c[e] + sign * weight[e] / t for e in range(2))
    return [[[mpf(c[0].numerator) / c[0].denominator + mp.ln(2) * c[1].numerator / c[1].denominator for c in row]
             for row in lag] for lag in out]


# --- t = 100 ------------------------------------------------------------------------------------------------------------

def coupling_at(s, w, t):
    """Of the chain with x = s w, y = s (1 - w), as a flat list [lag, m, l]."""
    lam = 1 - s
    pi = [1 - w, w]
    powers = [mpf(1)]
    for _ in range(t):
        powers.append(powers[-1] * lam)
    # sum over n < N of (N - n) and of (N - n) lam^n
    plain, curved, running = [mpf(0)], [mpf(0)], mpf(0)
    for n in range(t):
        running += powers[n]
        curved.append(curved[-1] + running)
        plain.append(plain[-1] + n + 1)
    stay = [1 - s * w, 1 - s * (1 - w)]
    out = []
    for lag in range(t):
        N = t - lag
        for m in range(2):
            for l in range(2):
                total = mpf(0)
                for i in range(2):
                    bias = (stay[m] if i == m else 1 - stay[m]) - mpf(1) / 2
                    reach = pi[i] + powers[lag] * ((1 if l == i else 0) - pi[i])
                    back = pi[m] * plain[N] + ((1 if i == m else 0) - pi[m]) * curved[N]
                    total += bias * reach * back
                out.append(pi[l] * total / t)
    return out


def tanh_sinh(low, high, step):
    half, middle, nodes = (high - low) / 2, (high + low) / 2, []
    count = int(mpf(3.3) / step)
    for k in range(-count, count + 1):
        u = k * step
        g = mp.pi / 2 * mp.sinh(u)
        nodes.append((middle + half * mp.tanh(g), half * step * mp.pi / 2 * mp.cosh(u) / mp.cosh(g) ** 2))
    return nodes


# Gauss-Legendre with three nodes: exact in w
GAUSS = [(-mp.sqrt(mpf(3) / 5), mpf(5) / 9), (mpf(0), mpf(8) / 9), (mp.sqrt(mpf(3) / 5), mpf(5) / 9)]


def coupling_dirichlet(t, step):
    total = [mpf(0)] * (4 * t)
    for low, high in [(0, 1), (1, 2)]:
        for s, ds in tanh_sinh(mpf(low), mpf(high), step):
            left, right = (mpf(0), mpf(1)) if high == 1 else (1 - 1 / s, 1 / s)
            for u, du in GAUSS:
                w = (left + right) / 2 + u * (right - left) / 2
                weight = ds * du * (right - left) / 2 * s
                for e, c in enumerate(coupling_at(s, w, t)):
                    total[e] += weight * c
    return total


def descend(flat, t, w, v, eta):
    """One step on both layers; w flat [4], v [t]."""
    new_w = [w[e] + eta * sum(v[d] * flat[4 * d + e] for d in range(t)) for e in range(4)]
    new_v = [v[d] + eta * sum(w[e] * flat[4 * d + e] for e in range(4)) for d in range(t)]
    return new_w, new_v


def lead(flat, t, eta):
    """By how much v_2 is above every other weight after two steps from a constant start."""
    w, v = [mpf(1)] * 4, [mpf(1)] * t
    for _ in range(2):
        w, v = descend(flat, t, w, v, eta)
    return v[1] - max(v[:1] + v[2:])


def threshold(flat, t):
    """The learning rate from which on v_2 leads."""
    low, high = mpf(10) ** -6, mpf(1)
    for _ in range(50):
        middle = mp.sqrt(low * high)
        low, high = (low, middle) if lead(flat, t, middle) > 0 else (middle, high)
    return high


def show(name, values):
    print(f"const {name}: [f64; {len(values)}] = [")
    for value in values:
        print(f"    {mp.nstr(value, 20)},")
    print("];")


if __name__ == "__main__":
    for t in [1, 3, 6]:
        exact = coupling_exact(t)
        show(f"COUPLING_{t}", [c for lag in exact for row in lag for c in row])
    t, c, eta = 100, mpf(2) / 100, mpf(3) / 100
    rough, fine = (coupling_dirichlet(t, mpf(1) / n) for n in (24, 32))
    print("// the two rules differ by", mp.nstr(max(abs(a - b) for a, b in zip(rough, fine)), 3))
    drive = descend(fine, t, [mpf(0)] * 4, [mpf(1)] * t, mpf(1))[0]
    show("RATIO_AND_THRESHOLD_100", [drive[0] / drive[1], threshold(fine, t)])
    w, v = [c] * 4, [c] * t
    for step in [1, 2]:
        w, v = descend(fine, t, w, v, eta)
        show(f"W_AFTER_{step}", w)
        show(f"V_AFTER_{step}", [v[d] for d in (0, 1, 2, 3, 49, 99)])
