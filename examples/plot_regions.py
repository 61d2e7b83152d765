"""
Regions and what they allow
===========================

Two neurons on two columns cut the plane into regions. A network predicts one value a region, so the
variance of the target left inside the regions is the least error it can reach on these rows: Theorem 1 of the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

import bgn

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(400, 2))
east, north = X.T
y = 2.0 * (east + 0.5 * north >= 0.2) + 1.0 * (north >= -0.3) + rng.normal(0, 0.2, 400)

# %%
# A network by hand: one rule about both columns, one about the second alone.

network = bgn.Network.of_layers(
    [bgn.Layer([[1.0, 0.5], [0.0, 1.0]], [-0.2, 0.3])],
    output_weights=[1.0, 0.4],
    base=1.5,
    feature_names=["east", "north"],
)
print(network)

# %%
# Which region is each row in, and how many rows does each hold?

(layer,) = bgn.theory.regions(network, X)
for pattern, count in zip(layer.patterns, layer.counts, strict=True):
    print(pattern, count)

# %%
# The bound of the hidden layer, then the error of this network. The second rule's weight was set to 0.4 by
# hand; the means of the regions would do better, and the gap says by how much at most.

bound, error = bgn.theory.lower_bounds(network, X, y)
print(f"bound {bound:.3f}, error {error:.3f}")

# %%
# The plane as the network sees it.

grid = np.linspace(-1, 1, 300)
plane = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
fig, ax = plt.subplots(figsize=(5, 4.2))
colors = {"cmap": "cividis", "vmin": y.min(), "vmax": y.max()}
shown = ax.pcolormesh(grid, grid, network.predict(plane).reshape(300, 300), **colors)
ax.scatter(east, north, c=y, s=14, edgecolor="white", linewidth=0.4, **colors)
ax.set(xlabel="east", ylabel="north", title="One value a region")
fig.colorbar(shown, label="predicted (areas) and true (points)")
fig.tight_layout()
