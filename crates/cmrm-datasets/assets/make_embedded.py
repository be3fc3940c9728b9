"""Writes the embedded data sets next to this file, byte for byte the same on every run.

Needs scikit-learn, which carries both sets unchanged from their source:

    python -m venv venv && venv/bin/pip install scikit-learn
    venv/bin/python make_embedded.py
"""

import hashlib
import pathlib
import zlib

from sklearn.datasets import load_breast_cancer, load_digits

HERE = pathlib.Path(__file__).resolve().parent


def number(value):
    """The shortest decimal that reads back as the same number; whole numbers without a point."""
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


def gzip(data):
    """A gzip member without name or time, so that the file depends on the data alone."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return header + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def write(name, features, columns, labels):
    lines = [",".join([*columns, "label"])]
    lines += [",".join([*map(number, row), label]) for row, label in zip(features, labels, strict=True)]
    text = ("\n".join(lines) + "\n").encode()
    path = HERE / f"{name}.csv.gz"
    path.write_bytes(gzip(text))
    print(f"{path.name}: {len(labels)} rows, {len(columns)} features, {path.stat().st_size} bytes")
    print(f"  sha256 of the CSV: {hashlib.sha256(text).hexdigest()}")


def main():
    digits = load_digits()
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    write("digits", digits.data, pixels, [str(label) for label in digits.target])

    cancer = load_breast_cancer()
    columns = [name.replace(" ", "_") for name in cancer.feature_names]
    write("breast-cancer", cancer.data, columns, [str(cancer.target_names[label]) for label in cancer.target])


if __name__ == "__main__":
    main()
