"""Before scipy is imported: scikit-learn skips one of its checks unless scipy knows array APIs."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
