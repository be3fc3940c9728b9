"""A grid search and a cross-fitted audit on a Ray cluster, through joblib.

    pip install scikit-learn ray
    python ray_cluster.py [--address auto]

Without an address Ray is started on this machine with two workers. Workers need cmrm installed.
"""

import argparse

import joblib
import ray
from ray.util.joblib import register_ray

from _cluster import work


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", help="a cluster that runs already")
    arguments = parser.parse_args()
    here = {} if arguments.address else {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
    ray.init(address=arguments.address, **here)
    register_ray()
    with joblib.parallel_config(backend="ray"):
        work()
    print(f"{int(ray.cluster_resources()['CPU'])} workers on Ray")
    ray.shutdown()


if __name__ == "__main__":
    main()
