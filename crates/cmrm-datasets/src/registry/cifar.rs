//! The CIFAR images, and the human labels for them.

use super::cifar_names::{COARSE_100, FINE_100, NAMES_10};
use crate::{Download, Entry, File, Form, LabelSet, Layout, Packing};

const MB: u64 = 1 << 20;
const LICENCE: &str = "none stated by the makers; the report is to be cited";
const CITATION: &str = "Krizhevsky, A. (2009). Learning Multiple Layers of Features from Tiny Images. \
                        https://www.cs.toronto.edu/~kriz/learning-features-2009-TR.pdf";
const HUMAN_CITATION: &str = "Wei, J., Zhu, Z., Cheng, H., Liu, T., Niu, G. and Liu, Y. (2022). Learning with Noisy Labels \
                              Revisited: A Study Using Real-World Human Annotations. ICLR. \
                              https://openreview.net/forum?id=TBWA6PLJZQm";

/// A file of 10,000 records, which only the checksum of the archive vouches for.
const fn batch(member: &'static str, name: &'static str) -> File {
    File { member, name, also: &[], form: Form::AsIs, sha256: None, bytes: Some(30_730_000), max_bytes: 32 * MB }
}

pub(super) const CIFAR_10: Entry = Entry {
    name: "cifar-10",
    title: "photographs of ten kinds of thing, 32 × 32 in colour",
    homepage: "https://www.cs.toronto.edu/~kriz/cifar.html",
    licence: LICENCE,
    citation: CITATION,
    train_rows: 50_000,
    test_rows: 10_000,
    columns: 3_072,
    classes: 10,
    needs: &[],
    downloads: &[Download {
        urls: &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
        name: "cifar-10-binary.tar.gz",
        packing: Packing::TarGz,
        sha256: Some("c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
        bytes: Some(170_052_171),
        max_bytes: 256 * MB,
        files: &[
            batch("cifar-10-batches-bin/data_batch_1.bin", "data_batch_1.bin"),
            batch("cifar-10-batches-bin/data_batch_2.bin", "data_batch_2.bin"),
            batch("cifar-10-batches-bin/data_batch_3.bin", "data_batch_3.bin"),
            batch("cifar-10-batches-bin/data_batch_4.bin", "data_batch_4.bin"),
            batch("cifar-10-batches-bin/data_batch_5.bin", "data_batch_5.bin"),
            batch("cifar-10-batches-bin/test_batch.bin", "test_batch.bin"),
        ],
    }],
    layout: Layout::Cifar {
        train: &["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"],
        test: "test_batch.bin",
        labels: &[LabelSet { name: "class", classes: NAMES_10 }],
    },
    note: "The archive is verified; files that were unpacked by other means are checked by size and recorded at first use.",
};

pub(super) const CIFAR_100: Entry = Entry {
    name: "cifar-100",
    title: "photographs of a hundred kinds of thing, 32 × 32 in colour",
    homepage: "https://www.cs.toronto.edu/~kriz/cifar.html",
    licence: LICENCE,
    citation: CITATION,
    train_rows: 50_000,
    test_rows: 10_000,
    columns: 3_072,
    classes: 100,
    needs: &[],
    downloads: &[Download {
        urls: &["https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"],
        name: "cifar-100-binary.tar.gz",
        packing: Packing::TarGz,
        sha256: Some("58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"),
        bytes: Some(168_513_733),
        max_bytes: 256 * MB,
        files: &[
            File {
                member: "cifar-100-binary/train.bin",
                name: "train.bin",
                also: &[],
                form: Form::AsIs,
                sha256: Some("f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"),
                bytes: Some(153_700_000),
                max_bytes: 160 * MB,
            },
            File {
                member: "cifar-100-binary/test.bin",
                name: "test.bin",
                also: &[],
                form: Form::AsIs,
                sha256: Some("d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"),
                bytes: Some(30_740_000),
                max_bytes: 32 * MB,
            },
        ],
    }],
    layout: Layout::Cifar {
        train: &["train.bin"],
        test: "test.bin",
        labels: &[LabelSet { name: "coarse", classes: COARSE_100 }, LabelSet { name: "fine", classes: FINE_100 }],
    },
    note: "Labels: `cifar-100` or `cifar-100:fine` for the hundred classes, `cifar-100:coarse` for the twenty above them.",
};

pub(super) const CIFAR_10N: Entry = Entry {
    name: "cifar-10n",
    title: "CIFAR-10 with the labels that people gave, 9 to 40 % of them wrong",
    homepage: "https://github.com/UCSC-REAL/cifar-10-100n",
    licence: "CC BY-NC 4.0 (the labels; no commercial use)",
    citation: HUMAN_CITATION,
    train_rows: 50_000,
    test_rows: 10_000,
    columns: 3_072,
    classes: 10,
    needs: &["cifar-10"],
    downloads: &[Download {
        urls: &["https://github.com/UCSC-REAL/cifar-10-100n/raw/main/data/CIFAR-10_human.pt"],
        name: "CIFAR-10_human.pt",
        packing: Packing::Plain,
        sha256: None,
        bytes: None,
        max_bytes: 64 * MB,
        files: &[File {
            member: "CIFAR-10_human.pt",
            name: "cifar-10n.csv",
            also: &["CIFAR-10_human.npy", "cifar10n.csv"],
            form: Form::Labels(&[
                "clean_label",
                "aggre_label",
                "random_label1",
                "random_label2",
                "random_label3",
                "worse_label",
            ]),
            sha256: Some("80130b6449b197f0e4b45448c4fcb4fd9b0c061527356c4ee44606814040e238"),
            bytes: Some(600_078),
            max_bytes: 64 * MB,
        }],
    }],
    layout: Layout::Relabelled {
        base: "cifar-10",
        file: "cifar-10n.csv",
        clean: "clean_label",
        columns: &[
            ("worse", "worse_label"),
            ("aggre", "aggre_label"),
            ("random1", "random_label1"),
            ("random2", "random_label2"),
            ("random3", "random_label3"),
        ],
    },
    note: "Labels: `cifar-10n:worse` (the default, 40 % wrong), `:aggre` (9 %), `:random1`, `:random2`, `:random3` (17–18 %). \
           The test part has the labels of CIFAR-10.",
};

pub(super) const CIFAR_100N: Entry = Entry {
    name: "cifar-100n",
    title: "CIFAR-100 with the labels that people gave, 40 % of them wrong",
    homepage: "https://github.com/UCSC-REAL/cifar-10-100n",
    licence: "CC BY-NC 4.0 (the labels; no commercial use)",
    citation: HUMAN_CITATION,
    train_rows: 50_000,
    test_rows: 10_000,
    columns: 3_072,
    classes: 100,
    needs: &["cifar-100"],
    downloads: &[Download {
        urls: &["https://github.com/UCSC-REAL/cifar-10-100n/raw/main/data/CIFAR-100_human.pt"],
        name: "CIFAR-100_human.pt",
        packing: Packing::Plain,
        sha256: None,
        bytes: None,
        max_bytes: 64 * MB,
        files: &[File {
            member: "CIFAR-100_human.pt",
            name: "cifar-100n.csv",
            also: &["CIFAR-100_human.npy", "cifar100n.csv"],
            form: Form::Labels(&["clean_label", "noisy_label"]),
            sha256: Some("6565be35256e35b12e01483fc2bbeae19064ef34835a8de677d0cf38253959ed"),
            bytes: Some(289_861),
            max_bytes: 64 * MB,
        }],
    }],
    layout: Layout::Relabelled {
        base: "cifar-100",
        file: "cifar-100n.csv",
        clean: "clean_label",
        columns: &[("noisy", "noisy_label")],
    },
    note: "The test part has the labels of CIFAR-100.",
};
