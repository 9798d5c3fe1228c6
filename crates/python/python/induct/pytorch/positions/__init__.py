"""How positions enter attention. A scheme says whether layers have a TABLE of vectors by lag, v, and gives the
`products` of queries and keys [..., H, t, d_head], which become scores."""
