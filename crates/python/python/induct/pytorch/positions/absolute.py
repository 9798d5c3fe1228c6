"""A vector per position, which the embedding adds; in attention, A_ij = q_i . k_j."""

from .none import TABLE, products

__all__ = ["TABLE", "products"]
