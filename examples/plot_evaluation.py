"""
Breast cancer: how far can the probabilities be trusted?
========================================================

569 tumours, thirty measurements of their cells, and whether each was benign. A model for classes says a probability;
before anybody acts on it, it must be judged on rows that it has not seen.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import bgn

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
model = bgn.BGNClassifier(max_terms=5, random_state=0).fit(X_train, y_train)
print(bgn.equation(model))

# %%
# The scores with their standard errors. Classes are in the order of their letters, so that "malignant" is the positive
# one; calling a tumour malignant from a probability of 0.2 on misses fewer of them, and frightens more people.

print(bgn.evaluate(model, X_test, y_test, threshold=0.2))

# %%
# How many malignant tumours are found, against how many benign ones are called malignant.

ax = bgn.plots.roc(model, X_test, y_test)

# %%
# Of those called malignant, how many are.

ax = bgn.plots.precision_recall(model, X_test, y_test)

# %%
# What happened against what was said: bars that cross the diagonal are no evidence against the probabilities.

ax = bgn.plots.calibration(model, X_test, y_test, bins=5)

# %%
# How far the two classes are apart.

ax = bgn.plots.scores(model, X_test, y_test)

# %%
# Whether acting on the model is better than treating everybody, or nobody, whatever a missed tumour is worth.

ax = bgn.plots.decision_curve(model, X_test, y_test)
