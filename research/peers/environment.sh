# Sourced by the scripts beside it: a virtual environment with the peers in it.
#
# python_with "import a, b" PACKAGE...: sets $python. The environment is thrown away at the end, unless CMRM_PEERS_ENV names
# a folder to make it in and use again next time.
python_with() {
  local imports=$1 environment
  shift
  if [ -n "${CMRM_PEERS_ENV:-}" ]; then
    environment=$CMRM_PEERS_ENV
  else
    environment=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$environment'" EXIT
  fi
  python=$environment/bin/python
  if ! "$python" -c "$imports" 2>/dev/null; then
    python3 -m venv "$environment"
    "$python" -m pip install --quiet "$@"
  fi
}

# target_folder: where cargo builds.
target_folder() {
  cargo metadata --format-version 1 --no-deps | "$python" -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}
