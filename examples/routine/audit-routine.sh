#!/bin/sh
# Audits labels with an old run's models and says what is new since the last audit. For cron: it prints nothing while all is well.
#
#   audit-routine.sh RUN DATA FOLDER [FLAGS FOR cmrm audit]
#
# FOLDER keeps the audits, one file each; the first one is compared with the run itself.
# Ends with 0: nothing new; 1: new suspects, or drift; 2: something is wrong with the data or the run.
set -eu
run=$1 data=$2 folder=$3
shift 3

mkdir -p "$folder"
previous=$run
for audit in "$folder"/*.csv; do
    if [ -e "$audit" ]; then previous=$audit; fi
done
out=$folder/$(date -u +%Y-%m-%dT%H%M%SZ).csv
while [ -e "$out" ]; do
    sleep 1
    out=$folder/$(date -u +%Y-%m-%dT%H%M%SZ).csv
done

status=0
report=$(cmrm audit "$run" "$data" --since "$previous" --out "$out" --fail-on new-suspects,drift "$@" 2>&1) || status=$?
if [ "$status" -ne 0 ]; then
    printf '%s\n' "$report"
fi
exit "$status"
