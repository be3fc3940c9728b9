#!/bin/sh
# Refuses a change to a labelled file that brings labels which look wrong. For a pre-commit hook, or a check of pull requests.
#
#   check-labels.sh RUN FILE [REVISION]
#
# The file as it is now is compared with the file in REVISION (default: HEAD), so that old suspects stop nobody.
# DECISIONS, if it is set, names a file of decisions: suspects that somebody has looked at stop nobody either.
set -eu
run=$1 file=$2 revision=${3:-HEAD}

# A first commit has no HEAD yet; any other name has to be there.
if [ "$revision" != HEAD ] && ! git rev-parse --quiet --verify "$revision^{commit}" > /dev/null; then
    echo "$revision: no such revision; fetch it, or correct the name" >&2
    exit 2
fi

if ! git cat-file -e "$revision:./$file" 2> /dev/null; then
    # A file that is not there yet: the share of wrong labels decides.
    exec cmrm audit "$run" "$file" --fail-on noise-above:0.05
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# With its own ending, so that it is read as the file is.
before=$work/before.${file##*.}
git show "$revision:./$file" > "$before"
cmrm audit "$run" "$before" --quiet --out "$work/audit.csv" > "$work/report.txt"
cmrm audit "$run" "$file" --since "$work/audit.csv" --fail-on new-suspects ${DECISIONS:+--decisions "$DECISIONS"}
