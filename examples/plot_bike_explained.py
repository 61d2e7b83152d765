"""
Bike rentals: a model typed in by hand, explained
=================================================

A model need not come from a fit. This one is typed in, as from a paper or a colleague's note, and what can be said of
it exactly is worked out: what drives it, what would have to change, and how near the next change is.
"""

import matplotlib.pyplot as plt
import numpy as np

import bgn

data = bgn.datasets.load("bike_sharing")
X = data.X[["hour", "temperature", "humidity", "year"]].fillna({"humidity": data.X["humidity"].median()})
names = list(X)
weights = np.zeros((5, len(names)))
for rule, name in enumerate(("hour", "hour", "hour", "temperature", "year")):
    weights[rule, names.index(name)] = 1.0
weights[3, names.index("humidity")] = -0.1  # the warmer and drier, the more
layer = bgn.Layer(weights, [-7.0, -16.0, -20.0, -9.0, -2012.0])
gains = np.array([170.0, 170.0, -180.0, 110.0, 85.0])  # a neuron answers 1 or -1, so that half of each is its weight
model = bgn.Network.of_layers([layer], gains / 2, gains.sum() / 2, names, "rentals")
print(bgn.equation(model))

# %%
# SHAP values of all 17,379 hours against all 17,379 hours, exactly, at three levels: columns, rules, and the
# connections between them. The two definitions of importance are named apart.

for kind in ("shap", "paper"):
    print(bgn.importance(model, X, kind=kind))
importance = bgn.importance(model, X)
print("rules", ", ".join(f"{share:.0%}" for share in importance.relative_terms))
connections = importance.relative_connections[[names.index(name) for name in ("temperature", "humidity")], 3]
print("within rule 4: temperature {:.0%}, humidity {:.0%}".format(*connections))

# %%
# The exact effect of the temperature. Its steps come from the rule that takes the humidity off it, one for every
# humidity in the data.

effect = bgn.effect(model, "temperature", X)
print(effect)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
grid = np.concatenate([[-10.0], effect.breakpoints, [40.0]])
ax.stairs(effect.values, grid, baseline=None)
ax.set(xlabel="temperature (°C)", ylabel="mean rentals per hour")

# %%
# What would it take for this hour to have 200 rentals? The smallest change first, an hour as dear as five degrees or
# ten points of humidity; then another way.

row = X.iloc[1234]
print(f"now {model.predict(X[1234:1235])[0]:.0f}")
settings = {"at_least": 200.0, "costs": {"hour": 5.0, "humidity": 0.5}, "integer": ["hour"]}
answers = bgn.counterfactual(model, row, immutable=["year"], n=2, **settings)
for answer in (answers, *answers.alternatives):
    print(answer)

# %%
# How many hours lie so near a threshold that half a degree would change the prediction?

near = bgn.margin(model, X)
print(f"{(near.distance[:, names.index('temperature')] <= 0.5).mean():.2%} of the hours")

# %%
# The same model as a card of whole points, which anybody can add up, and what that costs.

simple = bgn.simplify(model, X, data.y, points=5)
print(f"mean squared error {simple.before:,.0f} -> {simple.after:,.0f}")
bgn.scorecard(simple.network)
