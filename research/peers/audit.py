"""`cmrm audit` against cleanlab's find_label_issues: see the script `audit` beside this file."""

import argparse
import pathlib
import sys
import tempfile

import audit_speed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmrm", required=True, help="the command")
    parser.add_argument("--data", type=pathlib.Path, help="folder with features/ and cifar-n/")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        held = audit_speed.compare(args.cmrm, folder, args.rows, args.classes, args.repeats)
        if args.data:
            # Not before: cleanlab in memory would count in the peaks above.
            import audit_quality

            held &= audit_quality.compare(args.cmrm, folder, args.data)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
