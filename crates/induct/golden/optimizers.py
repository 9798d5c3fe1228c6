"""Three steps of AdamW and SGD on ½ (w − 2)² from w = 0.5, by the algorithms in PyTorch's documentation.

Run: python3 crates/induct/golden/optimizers.py
"""

def adamw(decay, lr=0.1, b1=0.9, b2=0.95, eps=1e-8):
    w, m, s = 0.5, 0.0, 0.0
    for n in range(1, 4):
        g = w - 2
        w -= lr * decay * w
        m, s = b1 * m + (1 - b1) * g, b2 * s + (1 - b2) * g * g
        w -= lr * (m / (1 - b1**n)) / ((s / (1 - b2**n)) ** 0.5 + eps)
    return w

def sgd(decay, lr=0.1, momentum=0.9):
    w, m = 0.5, 0.0
    for _ in range(3):
        m = momentum * m + (w - 2 + decay * w)
        w -= lr * m
    return w

print("adamw decayed %.9f plain %.9f" % (adamw(0.1), adamw(0)))
print("sgd   decayed %.9f plain %.9f" % (sgd(0.1), sgd(0)))
