"""The report as a small web application: the same page, whose requests Python answers, for one team on one machine.

`app` answers requests in plain values and knows nothing of the web; `requests` reads what a request holds, and refuses
in plain words what it cannot; `server` speaks HTTP, with nothing but the standard library. Only the page and the
answers of `app` are served: no path of a request ever becomes the name of a file.
"""

from bgn.serve.app import ModelApp
from bgn.serve.server import ModelServer

__all__ = ["ModelApp", "ModelServer"]
