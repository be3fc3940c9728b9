"""What dask_cluster.py and ray_cluster.py have in common: work for whatever joblib backend is on."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict

import cmrm


def work():
    """A grid search and a cross-fitted audit of digits with wrong labels, spread by scikit-learn over joblib's backend."""
    x, truth = load_digits(return_X_y=True)
    noisy = cmrm.inject_noise(truth, "symmetric:0.3", seed=0)
    estimator = cmrm.CMRMClassifier(epochs=20, random_state=0, n_jobs=1)
    search = GridSearchCV(estimator, {"preset": ["paper", "robust"], "model": ["linear", "mlp"]}, cv=3, n_jobs=-1, refit=False)
    search.fit(x, noisy.labels)
    probabilities = cross_val_predict(
        estimator.set_params(**search.best_params_), x, noisy.labels, cv=5, n_jobs=-1, method="predict_proba"
    )
    issues = np.asarray(cmrm.find_label_issues(noisy.labels, probabilities))
    print(f"best: {search.best_params_}, {search.best_score_:.6f} of observed labels")
    print(f"{issues.sum()} labels look wrong, {noisy.flipped[issues].mean():.3f} of them are")
