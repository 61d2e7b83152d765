"""
Diabetes: what would have to change?
====================================

A small model of disease progression, and for one patient the rules that follow a prediction: why, how near is a
measurement that gives another answer, and what would have to change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import bgn

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = bgn.BGNRegressor(max_terms=8, max_linear=0, random_state=0).fit(X, y)
print(bgn.equation(model))

# %%
# Why? Exact SHAP values against all patients, and the strongest interaction.

patient = 321
explanation = bgn.shap_values(model, X, X)
order = np.argsort(-abs(explanation.values[patient]))[:4]
for column in order:
    print(f"{X.columns[column]:>4} {X.iloc[patient, column]:8.4g} {explanation.values[patient, column]:+8.2f}")
interactions = np.triu(abs(explanation.interaction_values()).mean(axis=0), 1)
first, second = np.unravel_index(interactions.argmax(), interactions.shape)
print(f"strongest interaction: {X.columns[first]} and {X.columns[second]}")

# %%
# How near is another prediction? In standard deviations of the measurements, for all patients.

near = bgn.margin(model, X, units=X.std())
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.hist(near.euclidean, bins=40)
ax.set(xlabel="distance to the nearest other prediction (standard deviations)", ylabel="patients")
print(near.down[patient, order], near.up[patient, order])

# %%
# What would bring the prediction down by a quarter? Age and sex stay, the others may move within what was observed, and
# a unit is a standard deviation. Three answers that change different measurements.

now = float(model.predict(X.iloc[[patient]])[0])
limits = {name: (X[name].min(), X[name].max()) for name in X.columns}
ask = {"costs": 1 / X.std(), "bounds": limits, "immutable": ["age", "sex"]}
answers = bgn.counterfactual(model, X.iloc[patient], at_most=0.75 * now, n=3, **ask)
print(f"now {now:.1f}, wanted {0.75 * now:.1f}")
for answer in (answers, *answers.alternatives):
    print(answer)

# %%
# And what cannot be had at any price:

print(bgn.counterfactual(model, X.iloc[patient], at_most=50, **ask))

# %%
# Rounder numbers for the same predictions, then for nearly the same.

simple = bgn.simplify(model, X, y)
print(bgn.equation(simple.network))
print(f"mean squared error {simple.before:.0f} -> {simple.after:.0f}")
