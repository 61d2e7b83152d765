"""Every dataset as data: where it comes from, what its columns are, how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from bgn.datasets import build
from bgn.datasets.fetch import RawFile
from bgn.model.step import Floats

_UCI = "https://archive.ics.uci.edu/static/public/"
_CC_BY = "CC BY 4.0"


@dataclass(frozen=True)
class Spec:
    """All that is known of a dataset before its bytes are read.

    `features` maps each choice of columns (the first is the default) to (name, unit) pairs in order. `build` makes a
    matrix of them and the target, or columns by name where some are words.
    """

    source: RawFile | None
    build: Callable[[bytes, str], Floats | build.Columns]
    features: dict[str, tuple[tuple[str, str], ...]]
    target: tuple[str, str]
    rows: int
    description: str
    citation: str
    license: str


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``name (unit), name, ...``; no unit is the empty string."""
    cells = [cell.strip().rstrip(")").split(" (") for cell in text.split(",")]
    return tuple((cell[0], cell[1] if len(cell) > 1 else "") for cell in cells)


_HOURS = RawFile(
    "bike_sharing_hour.csv",
    _UCI + "275/bike+sharing+dataset.zip",
    "hour.csv",
    "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f",
)

_HOURS_CITATION = (
    "Fanaee-T, H. and Gama, J. (2013). Event labeling combining ensemble detectors and background knowledge. "
    "Progress in Artificial Intelligence. doi:10.1007/s13748-013-0040-3; data doi:10.24432/C5W894"
)

_BIKE_SHARING = Spec(
    source=_HOURS,
    build=build.bike_sharing,
    features={
        "readable": _pairs(
            "season, year, month, hour (h), weekday, holiday, day_off, weather, temperature (°C), feels_like (°C), "
            "humidity (%), wind (km/h)"
        )
    },
    target=("rentals", "per hour"),
    rows=17379,
    description=(
        "Bicycles hired per hour in Washington DC in 2011 and 2012, with calendar and weather: the file of 'bike' with "
        "words for codes and units for shares. day_off is a weekend or a holiday. The humidity of 22 hours, 0 % in the "
        "file, is a missing value. The row number, the date and the two parts of the target are left out."
    ),
    citation=_HOURS_CITATION,
    license=_CC_BY,
)

_MAMMOGRAPHIC = Spec(
    source=RawFile(
        "mammographic.csv", None, "mammographic.csv", "e9af55a1365d901d3625ed340a0e76a918fdaec372da82ad54ce0f5083b2026d"
    ),
    build=build.mammographic,
    features={"readable": _pairs("age (years), shape, margin, density")},
    target=("mass", ""),
    rows=961,
    description=(
        "Masses seen in 961 mammograms of 2003 to 2006 in Erlangen, 445 of which turned out to be malignant: the "
        "patient's age and how a doctor described the mass. 160 values are missing. The doctor's own assessment "
        "(BI-RADS), a guess at the answer, is left out."
    ),
    citation="Elter, M., Schulz-Wendtland, R. and Wittenberg, T. (2007). The prediction of breast cancer biopsy "
    "outcomes using two CAD approaches that both emphasize an intelligible decision process. Medical Physics 34, "
    "4164-4172. doi:10.1118/1.2786864",
    license=_CC_BY,
)

_PENGUINS = Spec(
    source=RawFile(
        "penguins.csv", None, "penguins.csv", "e07636bd8af74260099ea2f8678e2eabbf35def579940cc76f67061ee16c06c1"
    ),
    build=build.penguins,
    features={"readable": _pairs("island, bill_length (mm), bill_depth (mm), flipper_length (mm), body_mass (g), sex")},
    target=("species", ""),
    rows=344,
    description=(
        "344 penguins of three species, measured on three islands of the Palmer Archipelago, Antarctica, 2007 to 2009. "
        "The sex of 11 and the measurements of two of them are missing."
    ),
    citation="Horst, A. M., Hill, A. P. and Gorman, K. B. (2020). palmerpenguins: Palmer Archipelago (Antarctica) "
    "penguin data. doi:10.5281/zenodo.3960218; Gorman, K. B., Williams, T. D. and Fraser, W. R. (2014). PLoS ONE 9(3), "
    "e90081. doi:10.1371/journal.pone.0090081",
    license="CC0 1.0",
)

_BIKE = Spec(
    source=_HOURS,
    build=build.bike,
    features={
        "published": _pairs(
            "season, yr, mnth, hr (h), holiday, weekday, workingday, weathersit, temp (41 °C), atemp (50 °C), "
            "hum (100 %), windspeed (67 km/h)"
        )
    },
    target=("cnt", "rentals"),
    rows=17379,
    description=(
        "Hourly rentals of the Washington DC bicycle scheme in 2011 and 2012, with weather and calendar. The row "
        "number, the date and the two parts of the target (casual, registered) are left out. The archive's catalogue, "
        "and the paper after it, say 17389 rows and 16 columns; the file has 17379, of which 12 columns are features."
    ),
    citation=_HOURS_CITATION,
    license=_CC_BY,
)

_DIABETES_NAMES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
_DIABETES_UNITS = ("years", "", "kg/m²", "mm Hg", "mg/dl", "mg/dl", "mg/dl", "", "", "mg/dl")
_DIABETES = Spec(
    source=None,
    build=build.diabetes,
    features={
        "scaled": tuple((name, "") for name in _DIABETES_NAMES),
        "measured": tuple(zip(_DIABETES_NAMES, _DIABETES_UNITS, strict=True)),
    },
    target=("progression", ""),
    rows=442,
    description=(
        "Progression of diabetes one year after ten baseline measurements of 442 patients; shipped with scikit-learn. "
        "By default scikit-learn's scaled columns; columns='measured' gives the figures as they were measured."
    ),
    citation="Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least angle regression. "
    "Annals of Statistics 32, 407-499. doi:10.1214/009053604000000067",
    license="none stated; distributed with scikit-learn (BSD-3-Clause)",
)

_HOUSING = Spec(
    source=RawFile(
        "california_cal_housing.data",
        "https://ndownloader.figshare.com/files/5976036",
        "cal_housing.data",
        "a2b44dcc7e1c9091b43c4f458b25cbd1f7e8068d08edd26bc4703108d3fa6214",
    ),
    build=build.housing,
    features={
        "statlib": _pairs(
            "longitude (°), latitude (°), housingMedianAge (years), totalRooms (rooms), totalBedrooms (rooms), "
            "population (people), households (households), medianIncome (1000 USD)"
        ),
        "averaged": _pairs(
            "MedInc (10000 USD), HouseAge (years), AveRooms (rooms), AveBedrms (rooms), Population (people), "
            "AveOccup (people), Latitude (°), Longitude (°)"
        ),
    },
    target=("medianHouseValue", "100000 USD"),
    rows=20640,
    description=(
        "Median house value of the block groups of California in the census of 1990. By default StatLib's columns "
        "(totals a block group, income in thousands); columns='averaged' gives scikit-learn's per-household columns. "
        "Compare models only on the same columns: the paper's equation reads StatLib's, its tree table the averages."
    ),
    citation="Pace, R. K. and Barry, R. (1997). Sparse spatial autoregressions. Statistics and Probability Letters "
    "33, 291-297. doi:10.1016/S0167-7152(96)00140-X",
    license="none stated; built from US census figures",
)

_CHICKENPOX = Spec(
    source=RawFile(
        "hungary_chickenpox.csv",
        _UCI + "580/hungarian+chickenpox+cases.zip",
        "hungary_chickenpox.csv",
        "bd1b802f1059b9b0f0d2c29d6171bc2f302994f81a92d7c7bb25191f76dc4a23",
    ),
    build=build.chickenpox,
    features={
        "published": (
            ("year", "since 2004"),
            ("month", ""),
            ("week", "of the month"),
            *_pairs(
                "BUDAPEST (cases), BARANYA (cases), BACS (cases), BEKES (cases), BORSOD (cases), CSONGRAD (cases), "
                "FEJER (cases), GYOR (cases), HAJDU (cases), HEVES (cases), JASZ (cases), KOMAROM (cases), "
                "NOGRAD (cases), PEST (cases), SOMOGY (cases), SZABOLCS (cases), TOLNA (cases), VAS (cases), "
                "VESZPREM (cases)"
            ),
        )
    },
    target=("ZALA", "cases"),
    rows=522,
    description=(
        "Weekly chickenpox cases in Budapest and 19 counties of Hungary, 2005 to 2014; the county of Zala is predicted "
        "from the others and the date. The catalogue, and the paper after it, say 521 rows and 20 columns; the matrix "
        "has 522 rows and 22 features."
    ),
    citation="Rozemberczki, B., Scherer, P., Kiss, O., Sarkar, R. and Ferenci, T. (2021). Chickenpox cases in Hungary. "
    "arXiv:2102.08100; data doi:10.24432/C5103B",
    license=_CC_BY,
)

_ISTANBUL = Spec(
    source=RawFile(
        "istanbul_data_akbilgic.xlsx",
        _UCI + "247/istanbul+stock+exchange.zip",
        "data_akbilgic.xlsx",
        "03705812097354eb20b6a3220194fc37699fd3caae0145fc1118fc9b2b36e969",
    ),
    build=build.istanbul,
    features={
        "published": _pairs(
            "year, weekday (Sunday = 1), month, day, SP (%), DAX (%), FTSE (%), NIKKEI (%), BOVESPA (%), EU (%), EM (%)"
        )
    },
    target=("ISE_USD", "%"),
    rows=534,
    description=(
        "Daily return of the Istanbul stock exchange in dollars, January 2009 to February 2011, from seven other "
        "indices and the date. The same index in lira is left out, and so are the last two rows. The catalogue, and "
        "the paper after it, say 536 rows and 8 columns; the matrix has 534 rows and 11 features."
    ),
    citation="Akbilgic, O., Bozdogan, H. and Balaban, M. E. (2014). A novel hybrid RBF neural networks model as a "
    "forecaster. Statistics and Computing 24, 365-375. doi:10.1007/s11222-013-9375-7; data doi:10.24432/C54P4J",
    license=_CC_BY,
)

_PARKING = Spec(
    source=RawFile(
        "parking_birmingham.csv",
        _UCI + "482/parking+birmingham.zip",
        "dataset.csv",
        "f1e28b9c697769a1a05cd20148241b60b1a73fee4907611163efc6fd9d12770a",
    ),
    build=build.parking,
    features={"published": _pairs("park, weekday (Sunday = 1), month, day, time (h), Capacity (cars)")},
    target=("Occupancy", "cars"),
    rows=35717,
    description=(
        "Occupancy of 30 car parks of Birmingham about every half hour, 4 October to 19 December 2016. Negative "
        "readings (12), readings above capacity (373) and duplicate rows (216) are kept. The paper's table says 4 "
        "columns; the matrix has 6 features."
    ),
    citation="Stolfi, D. H., Alba, E. and Yao, X. (2017). Predicting car park occupancy rates in smart cities. "
    "Smart Cities. doi:10.1007/978-3-319-59513-9_11; data doi:10.24432/C51K5Z",
    license=_CC_BY + "; source data under the UK Open Government Licence",
)

_POWER_PLANT = Spec(
    source=RawFile(
        "ccpp_Folds5x2_pp.xlsx",
        _UCI + "294/combined+cycle+power+plant.zip",
        "Folds5x2_pp.xlsx",
        "ccd490981db2a2f079963b3d9f0aea30d9d338900a0285428dfc6385396f4651",
    ),
    build=build.power_plant,
    features={"published": _pairs("AT (°C), V (cm Hg), AP (mbar), RH (%)")},
    target=("PE", "MW"),
    rows=9568,
    description=(
        "Hourly output of a combined cycle power plant at full load, 2006 to 2011, from temperature, exhaust vacuum, "
        "pressure and humidity. The workbook holds five shuffles of the same rows; this is the fifth."
    ),
    citation="Tüfekci, P. (2014). Prediction of full load electrical power output of a base load operated combined "
    "cycle power plant. Electrical Power and Energy Systems 60, 126-140. doi:10.1016/j.ijepes.2014.02.027; "
    "data doi:10.24432/C5002N",
    license=_CC_BY,
)

SPECS = MappingProxyType(
    {
        "bike_sharing": _BIKE_SHARING, "mammographic": _MAMMOGRAPHIC, "penguins": _PENGUINS, "bike": _BIKE,
        "diabetes": _DIABETES, "housing": _HOUSING, "chickenpox": _CHICKENPOX, "istanbul": _ISTANBUL,
        "parking": _PARKING, "power_plant": _POWER_PLANT,
    }
)  # fmt: skip
