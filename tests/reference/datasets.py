"""The paper's matrices from the raw tables, by pandas and the recipes alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.optional import pandas as pd


def sunday_first(dates: pd.Series) -> pd.Series:
    return (dates.dt.day_of_week + 1) % 7 + 1


def bike(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "bike_sharing_hour.csv.gz").drop(columns=["instant", "dteday", "casual", "registered"])


def parking(folder: Path) -> pd.DataFrame:
    raw = pd.read_csv(folder / "parking_birmingham.csv.gz", parse_dates=["LastUpdated"])
    when = raw["LastUpdated"]
    seconds = when.dt.hour * 3600 + when.dt.minute * 60 + when.dt.second
    return pd.DataFrame(
        {
            "park": raw["SystemCodeNumber"].astype("category").cat.codes,
            "weekday": sunday_first(when),
            "month": when.dt.month,
            "day": when.dt.day,
            "time": (seconds + 900) // 1800 / 2,
            "Capacity": raw["Capacity"],
            "Occupancy": raw["Occupancy"],
        }
    )


def chickenpox(folder: Path) -> pd.DataFrame:
    raw = pd.read_csv(folder / "hungary_chickenpox.csv.gz")
    when = pd.to_datetime(raw.pop("Date"), format="%d/%m/%Y")
    dates = pd.DataFrame({"year": when.dt.year - 2004, "month": when.dt.month, "week": (when.dt.day + 6) // 7})
    return pd.concat([dates, raw], axis=1)


def housing(folder: Path) -> pd.DataFrame:
    domain = (folder / "california_cal_housing.domain").read_text().splitlines()
    names = [line.split(":")[0] for line in domain]
    raw = pd.read_csv(folder / "california_cal_housing.data.gz", names=names, engine="pyarrow")
    raw["medianIncome"] *= 10
    raw["medianHouseValue"] /= 100_000
    return raw


def power_plant(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "ccpp_sheet5.csv.gz", engine="pyarrow")


def istanbul(folder: Path) -> pd.DataFrame:
    raw = pd.read_csv(folder / "istanbul_stock_exchange.csv.gz", parse_dates=["date"], engine="pyarrow")
    when = raw["date"]
    dates = pd.DataFrame(
        {"year": when.dt.year, "weekday": sunday_first(when), "month": when.dt.month, "day": when.dt.day}
    )
    returns = raw[["SP", "DAX", "FTSE", "NIKKEI", "BOVESPA", "EU", "EM", "ISE_USD"]] * 100
    return pd.concat([dates, returns], axis=1)[:-2]


def averaged_housing(folder: Path) -> np.ndarray:
    raw = housing(folder)
    ensemble = raw[["totalRooms", "totalBedrooms", "population"]].div(raw["households"], axis=0)
    return np.column_stack(
        [
            pd.read_csv(folder / "california_cal_housing.data.gz", header=None, engine="pyarrow")[7],
            raw["housingMedianAge"],
            ensemble[["totalRooms", "totalBedrooms"]],
            raw["population"],
            ensemble["population"],
            raw[["latitude", "longitude", "medianHouseValue"]],
        ]
    )
