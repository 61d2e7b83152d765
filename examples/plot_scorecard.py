"""
A risk score on one page
========================

569 tumours, measured on images, benign or malignant (the table ships with scikit-learn). Five rules about single
columns, whole points from 1 to 5, and what a total means. The card is the model: who adds up the points gets the
probability that ``predict`` returns.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import bgn

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map({0: "malignant", 1: "benign"}).rename("tumour")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = bgn.BGNClassifier(max_terms=5, max_features=1, max_linear=0, random_state=0).fit(X_train, y_train)
print(bgn.equation(model))

# %%
# Points instead of decimals. What they cost on the training rows is told; beside it the test rows.

simple = bgn.simplify(model, X_train, y_train, points=5)
print(bgn.scorecard(simple.network))
print(f"\n{simple.measure} on the training rows: {simple.before:.3f} before, {simple.after:.3f} after")
for name, network in (("network", model.network_), ("card", simple.network)):
    print(f"AUC on the test rows, {name}: {roc_auc_score(y_test == 'malignant', network.predict(X_test)):.3f}")

# %%
# The card as a figure.

ax = bgn.plots.scorecard(simple.network)

# %%
# One patient: from the mean log-odds to hers.

patient = int(simple.network.predict(X_test).argmax())
explanation = bgn.shap_values(simple.network, X_test, X_train)
ax = bgn.plots.waterfall(explanation, patient)
print(f"probability of a malignant tumour: {explanation.probabilities[patient, 1]:.3f}")

# %%
# And what would have to be otherwise for the other answer, at the least cost, with proof.

print(bgn.counterfactual(simple.network, X_test.iloc[patient], to="benign"))
