"""
Housing: five questions beside a tree of depth three
====================================================

The paper sets a network of five neurons beside a regression tree of depth three, on the value of Californian homes in
1990. Both ask few yes/no questions. The tree's are nested, the network's stand side by side and simply add up.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor, plot_tree

import bgn

data = bgn.datasets.load("housing")
units = dict(zip(data.feature_names, data.units, strict=True))
X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0)

model = bgn.BGNRegressor(max_width=5, max_linear=0, random_state=0).fit(X_train, y_train)
tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X_train, y_train)
for name, one in (("network of 5 neurons", model), ("tree of depth 3 (7 splits)", tree)):
    print(f"{name:27} test error {mean_squared_error(y_test, one.predict(X_test)):.3f}")

# %%
# The whole model, in words and numbers: homes in units of 100,000 dollars.

print(bgn.equation(model, units=units))

# %%
# The same as a drawing. Percentages are relative importances: of the features on the left, of the questions in the
# middle. A line is as dark as its feature's share of the question.

ax = bgn.plots.network(model, X_train)

# %%
# The tree, for comparison.

fig, ax = plt.subplots(figsize=(11, 4.5), layout="constrained")
_ = plot_tree(tree, feature_names=data.feature_names, impurity=False, precision=2, fontsize=7, ax=ax)
_ = ax.set_title("Regression tree of depth 3")

# %%
# What the model sees of two of its features, the others at their medians: a constant in every region.

first, second = bgn.importance(model, X_train).features.argsort()[::-1][:2]
ax = bgn.plots.regions(model, X_train, (int(first), int(second)), points=300)

# %%
# The same regions as steps.

ax = bgn.plots.regions(model, X_train, (int(first), int(second)), steps=True)

# %%
# Size against error: a network of every width along one path, beside trees that ask as many questions.

larger = bgn.BGNRegressor(max_width=15, max_linear=0, random_state=0).fit(X_train, y_train)
ax = bgn.plots.tree_comparison(larger, X_train, y_train, X_test, y_test)
