"""
Bike rentals: a larger model, still in one piece
================================================

Hourly rentals in Washington, 2011 and 2012. Twenty rules are more than one reads aloud, but the drawing and the
report keep them in view.
"""

import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

import bgn

data = bgn.datasets.load("bike_sharing")
X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0)
model = bgn.BGNRegressor(max_terms=20, random_state=0).fit(X_train, y_train)
print(f"R2 on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# Rules about the hour and the temperature lead.

ax = bgn.plots.network(model, X_train)

# %%
# The effect of the hour, exactly: two rush hours and the night.

ax = bgn.plots.effect(model, "hour", X_train)

# %%
# Hour and temperature together.

ax = bgn.plots.effect(model, ("hour", "temperature"), X_train)

# %%
# One file for somebody who has no Python: open it in a browser and move the sliders.

path = bgn.write_report(
    model, X_train, y_train, Path(tempfile.mkdtemp()) / "bike.html", X_test=X_test, y_test=y_test, title="Bike rentals"
)
print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
