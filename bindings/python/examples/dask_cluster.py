"""A grid search and a cross-fitted audit on a Dask cluster, through joblib.

    pip install scikit-learn 'dask[distributed]'
    python dask_cluster.py [--address tcp://scheduler:8786]

Without an address a cluster of two worker processes is started on this machine. Workers need cmrm installed.
"""

import argparse

import joblib
from dask.distributed import Client, LocalCluster

from _cluster import work


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", help="the scheduler of a cluster that runs already")
    arguments = parser.parse_args()
    cluster = arguments.address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client, joblib.parallel_config(backend="dask"):
        work()
        print(f"{len(client.scheduler_info()['workers'])} workers on Dask")
    if not arguments.address:
        cluster.close()


if __name__ == "__main__":
    main()
