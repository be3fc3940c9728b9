"""How text becomes features: n-grams of words and characters compared on texts with planted wrong labels.

    nice python text_features.py --trec trec.label --debian debian.txt --fortunes FOLDER [--only trec] [--arms a,b] > rows.jsonl

`debian.txt` is what `apt-cache dumpavail` prints; FOLDER holds the Debian packages fortunes, fortunes-de and fortunes-ru,
unpacked (`apt-get download`, `dpkg-deb -x`). Every line that is printed is the accuracy, by clean labels, of one learner on
one kind of features at one rate of wrong labels. `--table FILE` prints the means of such lines.
"""

import argparse
import json
import pathlib
import re
import time
import warnings
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import normalize

TRAIN, TEST, CLASSES, RATES = 4000, 1400, 10, (0.0, 0.2, 0.4)
WORD = r"(?u)\b\w+\b"


def words(high, min_df=2, sublinear=True, pattern=WORD, **more):
    return TfidfVectorizer(ngram_range=(1, high), min_df=min_df, sublinear_tf=sublinear, token_pattern=pattern, **more)


def runs(text):
    """Words, and runs of up to three of the same mark."""
    return [match[0] for match in re.finditer(r"[^\W_]+|([^\w\s]|_)\1{0,2}", text)]


def marks(high, min_df=2):
    return words(high, min_df, pattern=None, tokenizer=runs)


def characters(low, high, min_df=2, sublinear=True):
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(low, high), min_df=min_df, sublinear_tf=sublinear)


def ends(start=(4, 5), end=(3,)):
    """The first four and five characters of a word, and its last three: what a stem and an ending would be."""
    cut = lambda word: [f"{word[:n]}-" for n in start if len(word) > n] + [f"-{word[-n:]}" for n in end if len(word) > n]
    return TfidfVectorizer(analyzer=lambda text: [e for word in re.findall(WORD, text.lower()) for e in cut(word)], min_df=2, sublinear_tf=True)


def hashed(high, bits):
    vectors = HashingVectorizer(ngram_range=(1, high), n_features=1 << bits, norm=None, alternate_sign=False, token_pattern=WORD)
    return make_pipeline(vectors, TfidfTransformer(sublinear_tf=True))


ARMS = {
    "word 1": lambda: words(1),
    "word 1-2": lambda: words(2),
    "word 1-2, scikit-learn's words": lambda: words(2, pattern=r"(?u)\b\w\w+\b"),
    "word 1-2, marks too": lambda: words(2, pattern=r"(?u)\w+|[^\w\s]"),
    "word 1-2, runs of marks": lambda: marks(2),
    "word 1-3, runs of marks": lambda: marks(3),
    "word 1-2, runs of marks, all terms": lambda: marks(2, min_df=1),
    "word 1-2, runs of marks + char 3-5": lambda: make_union(marks(2), characters(3, 5)),
    "word 1-2, runs of marks + char 4": lambda: make_union(marks(2), characters(4, 4)),
    "word 1-2, runs of marks + ends": lambda: make_union(marks(2), ends()),
    "word 1-2, plain counts": lambda: words(2, sublinear=False),
    "word 1-2, all terms": lambda: words(2, min_df=1),
    "word 1-2, thrice": lambda: words(2, min_df=3),
    "word 1-2, hashed 2^18": lambda: hashed(2, 18),
    "char 3-5": lambda: characters(3, 5),
    "char 2-5": lambda: characters(2, 5),
    "word 1 + char 3-5": lambda: make_union(words(1), characters(3, 5)),
    "word 1-2 + char 3-5": lambda: make_union(words(2), characters(3, 5)),
    "word 1-2 + char 2-4": lambda: make_union(words(2), characters(2, 4)),
    "word 1-2 + char 3-4": lambda: make_union(words(2), characters(3, 4)),
}
LEARNERS = {
    "logistic C=1": lambda: OneVsRestClassifier(LogisticRegression(C=1, solver="liblinear")),
    "logistic C=10": lambda: OneVsRestClassifier(LogisticRegression(C=10, solver="liblinear")),
    "ridge": lambda: RidgeClassifier(alpha=1.0, solver="sparse_cg"),
}


def trec(file):
    lines = pathlib.Path(file).read_text(encoding="latin-1").splitlines()
    return [line.split(" ", 1)[1] for line in lines], [line.split(":", 1)[0] for line in lines]


def debian(file):
    texts, classes, text = [], [], None
    for line in pathlib.Path(file).read_text(errors="replace").splitlines():
        if line.startswith("Description: "):
            text = line[13:]
        elif line.startswith("Section: ") and text:
            texts.append(text), classes.append(line[9:])
            text = None
    return texts, classes


def fortunes(folder, language):
    folder = next(pathlib.Path(folder).rglob("games/fortunes")) / language
    texts, classes = [], []
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix not in (".dat", ".u8"):
            for text in re.split(r"^%.*$", file.read_text(errors="replace"), flags=re.M):
                if len(text.split()) >= 4:
                    texts.append(text), classes.append(file.name)
    return texts, classes


def sets(args):
    if args.trec:
        yield "trec", *trec(args.trec)
    if args.debian:
        yield "debian", *debian(args.debian)
    if args.fortunes:
        for language in ("", "de", "ru"):
            yield f"fortunes {language or 'en'}", *fortunes(args.fortunes, language)


def sample(texts, classes, seed):
    """Texts once each, of the ten largest classes, in random order: to train on, to test on."""
    pairs = list(dict(zip(texts, classes)).items())
    largest = {name for name, _ in Counter(name for _, name in pairs).most_common(CLASSES)}
    pairs = [pair for pair in pairs if pair[1] in largest]
    order = np.random.default_rng(seed).permutation(len(pairs))
    size = min(TRAIN, int(len(pairs) * TRAIN / (TRAIN + TEST)))
    names = sorted({name for _, name in pairs})
    y = np.array([names.index(pairs[at][1]) for at in order])
    x = [pairs[at][0] for at in order]
    return x[:size], y[:size], x[size : size + TEST], y[size : size + TEST], len(names)


def plant(y, classes, rate, seed):
    rng = np.random.default_rng(100 + seed)
    rows = rng.permutation(len(y))[: round(rate * len(y))]
    seen = y.copy()
    seen[rows] = (seen[rows] + rng.integers(1, classes, size=len(rows))) % classes
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("trec", "debian", "fortunes", "only", "arms", "table"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    if args.table:
        return table(args.table)
    warnings.filterwarnings("ignore")
    arms = args.arms.split(";") if args.arms else ARMS
    for name, texts, classes in sets(args):
        if args.only and name not in args.only.split(","):
            continue
        for seed in range(args.seeds):
            x, y, test, truth, many = sample(texts, classes, seed)
            for arm in arms:
                started = time.time()
                vectors = ARMS[arm]()
                # Every arm has rows of length one, so that a penalty means the same in all of them.
                a, b = normalize(vectors.fit_transform(x)), normalize(vectors.transform(test))
                took = time.time() - started
                for rate in RATES:
                    seen = plant(y, many, rate, seed)
                    for learner, make in LEARNERS.items():
                        accuracy = float((make().fit(a, seen).predict(b) == truth).mean())
                        row = {"set": name, "rows": len(y), "classes": many, "seed": seed, "arm": arm, "rate": rate}
                        row |= {"learner": learner, "accuracy": accuracy, "features": a.shape[1], "numbers": a.nnz, "seconds": round(took, 2)}
                        print(json.dumps(row), flush=True)


def table(file):
    rows = [json.loads(line) for line in pathlib.Path(file).read_text().splitlines()]
    names = list(dict.fromkeys(row["set"] for row in rows))
    mean = lambda chosen: 100 * float(np.mean([row["accuracy"] for row in chosen])) if chosen else float("nan")
    print("| features | " + " | ".join(names) + " | mean | " + " | ".join(f"{rate:.0%}" for rate in RATES) + " |")
    print("|---" * (len(names) + 5) + "|")
    for arm in dict.fromkeys(row["arm"] for row in rows):
        # Of the learners the best on each set and rate: features are compared, not penalties.
        best = {}
        for row in rows:
            key = (row["set"], row["seed"], row["rate"])
            if row["arm"] == arm and (key not in best or best[key]["accuracy"] < row["accuracy"]):
                best[key] = row
        best = list(best.values())
        cells = [mean([row for row in best if row["set"] == name]) for name in names] + [mean(best)]
        cells += [mean([row for row in best if row["rate"] == rate]) for rate in RATES]
        print(f"| {arm} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
