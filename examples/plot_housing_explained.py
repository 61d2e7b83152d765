"""
Housing: the paper's five neurons, explained
============================================

The network that the paper prints for the value of Californian homes, typed in from its equation, and what can be said
of it exactly: what drives it, what would have to change for a higher value, and how near the next change is.
"""

import matplotlib.pyplot as plt
import numpy as np

import bgn

data = bgn.datasets.load("housing")
names = list(data.feature_names)
weights = np.zeros((5, len(names)))
age, bedrooms, income = (names.index(each) for each in ("housingMedianAge", "totalBedrooms", "medianIncome"))
weights[0, income] = weights[1, income] = weights[2, income] = 1.0
weights[1, age] = 0.59
weights[3, bedrooms] = weights[4, age] = 1.0
output = np.array([1.27, 1.01, 0.60, 0.36, 0.27]) / 2
layer = bgn.Layer(weights, [-65.46, -63.56, -28.20, -622.0, -20.0])
model = bgn.Network([layer], output, 1.00 + output.sum(), names, "value")
print(bgn.equation(model))

# %%
# SHAP values of all 20,640 blocks against all 20,640 blocks, exactly, at the three levels of the paper's figure:
# features, neurons, and the connections between them. The two definitions of importance are named apart.

for kind in ("shap", "paper"):
    print(bgn.importance(model, data.X, kind=kind))
found = bgn.importance(model, data.X)
print("neurons", ", ".join(f"{share:.0%}" for share in found.relative_neurons))
print("within neuron 2: age {:.0%}, income {:.0%}".format(*found.relative_connections[[age, income], 1]))

# %%
# The exact effect of income. Two steps are the thresholds 28.20 and 65.46; the small ones between them come from the
# neuron that adds age to income, one for every age in the data.

effect = bgn.effect(model, "medianIncome", data.X)
print(effect)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
grid = np.concatenate([[0.0], effect.breakpoints, [100.0]])
ax.stairs(effect.levels, grid, baseline=None)
ax.set(xlabel="median income (1,000 USD)", ylabel="mean value (100,000 USD)")

# %%
# What would it take for a block to be worth 200,000 dollars? Cheapest first, a thousand dollars of income as dear
# as ten bedrooms or a year; then another way; and then with age as the only one.

row = data.X.iloc[1234]
print(f"now {model.predict(data.X[1234:1235])[0]:.2f}")
costs = {"totalBedrooms": 0.1}
answers = bgn.counterfactual(model, row, at_least=2.0, costs=costs, integer=["totalBedrooms", "housingMedianAge"], n=2)
for answer in (answers, *answers.alternatives):
    print(answer)
print(bgn.counterfactual(model, row, at_least=2.0, immutable=["medianIncome", "totalBedrooms"]))

# %%
# How many blocks lie so near a threshold that 100 dollars of income would change their value?

near = bgn.margin(model, data.X)
print(f"{(near.distance[:, income] <= 0.1).mean():.2%} of the blocks")

# %%
# The same model as a card of whole points, which anybody can add up, and what that costs.

simple = bgn.simplify(model, data.X, data.y, points=5)
print(f"mean squared error {simple.before:.3f} -> {simple.after:.3f}")
bgn.scorecard(simple.network)
