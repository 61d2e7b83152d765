"""
Wine: three classes in one table
================================

178 wines of three growers, thirteen chemical measurements. A network of a few rules tells the growers apart; each
rule stands once and has a weight for every class.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import bgn

data = load_wine(as_frame=True)
X, y = data.data, data.target.map({0: "first", 1: "second", 2: "third"}).rename("grower")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = bgn.BGNClassifier(max_terms=6, max_linear=0, random_state=0).fit(X_train, y_train)
print(bgn.equation(model))
print(f"\nshare of test wines told right: {model.score(X_test, y_test):.2f}")

# %%
# Whole points instead of decimals: the class with the highest total is predicted. What that costs is told.

simple = bgn.simplify(model, X_train, y_train, points=5)
print(bgn.scorecard(simple.network))
print(f"\n{simple.measure} on the training wines: {simple.before:.3f} before, {simple.after:.3f} after")

# %%
# The same card as a figure.

ax = bgn.plots.scorecard(simple.network)

# %%
# Why is this wine of the second grower? Its score, column by column, against all training wines: the values add up.

wine = int((model.predict(X_test) == "second").argmax())
explanation = bgn.shap_values(model, X_test, X_train)
ax = bgn.plots.waterfall(explanation.of_class("second"), wine)

# %%
# The exact mean probability of the second grower as the alcohol varies.

alcohol = bgn.effect(model, "alcohol", X_train, of="second")
print(alcohol)

# %%
# What would have to change for the first grower, at the least cost, with proof.

print(bgn.counterfactual(model, X_test.iloc[wine], to="first"))
