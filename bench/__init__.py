"""Measured comparisons, not tests. Times are CPU times: a second BLAS thread, which mostly spins, would count twice."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
