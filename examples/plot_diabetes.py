"""
Diabetes: why this patient?
===========================

442 patients, ten measurements, and how far the disease had gone a year later. With so few rows a model must stay small;
this one can be read in a minute, and every prediction taken apart exactly.
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import bgn

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = bgn.BGNRegressor(max_terms=8, max_linear=0, random_state=0).fit(X_train, y_train)
print(bgn.equation(model))
print(f"\nR2 on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# How it grew. The dashed line marks the width that did best on rows set aside for that.

ax = bgn.plots.growth(model)

# %%
# Which rules matter, and which features.

ax = bgn.plots.importance(model, X_train, of="terms")

# %%
# The exact effect of the body mass index: the mean prediction as it varies, with all else as in the data. The bars show
# where the patients are.

ax = bgn.plots.effect(model, "bmi", X_train)

# %%
# SHAP values of the test patients against all training patients: no sampling, they add up to the prediction.

explanation = bgn.shap_values(model, X_test, X_train)
ax = bgn.plots.summary(explanation)

# %%
# One patient: from the mean prediction to this one.

patient = int(model.predict(X_test).argmax())
ax = bgn.plots.waterfall(explanation, patient)
