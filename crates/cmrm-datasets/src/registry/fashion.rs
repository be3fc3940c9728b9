//! Fashion-MNIST.

use crate::{Download, Entry, File, Form, Layout, Packing};

const MB: u64 = 1 << 20;

pub(super) const FASHION_MNIST: Entry = Entry {
    name: "fashion-mnist",
    title: "pictures of clothes, 28 × 28 shades of grey",
    homepage: "https://github.com/zalandoresearch/fashion-mnist",
    licence: "MIT",
    citation: "Xiao, H., Rasul, K. and Vollgraf, R. (2017). Fashion-MNIST: a Novel Image Dataset for Benchmarking \
               Machine Learning Algorithms. https://arxiv.org/abs/1708.07747",
    train_rows: 60_000,
    test_rows: 10_000,
    columns: 784,
    classes: 10,
    needs: &[],
    downloads: &[
        Download {
            urls: &[
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/train-images-idx3-ubyte.gz",
            ],
            name: "train-images-idx3-ubyte.gz",
            packing: Packing::Plain,
            sha256: Some("3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            bytes: Some(26_421_880),
            max_bytes: 64 * MB,
            files: &[File {
                member: "train-images-idx3-ubyte.gz",
                name: "train-images-idx3-ubyte",
                also: &[],
                form: Form::Gunzip,
                sha256: Some("c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
                bytes: Some(47_040_016),
                max_bytes: 64 * MB,
            }],
        },
        Download {
            urls: &[
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/train-labels-idx1-ubyte.gz",
            ],
            name: "train-labels-idx1-ubyte.gz",
            packing: Packing::Plain,
            sha256: Some("a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            bytes: Some(29_515),
            max_bytes: MB,
            files: &[File {
                member: "train-labels-idx1-ubyte.gz",
                name: "train-labels-idx1-ubyte",
                also: &[],
                form: Form::Gunzip,
                sha256: Some("bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
                bytes: Some(60_008),
                max_bytes: MB,
            }],
        },
        Download {
            urls: &[
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/t10k-images-idx3-ubyte.gz",
            ],
            name: "t10k-images-idx3-ubyte.gz",
            packing: Packing::Plain,
            sha256: Some("346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            bytes: Some(4_422_102),
            max_bytes: 16 * MB,
            files: &[File {
                member: "t10k-images-idx3-ubyte.gz",
                name: "t10k-images-idx3-ubyte",
                also: &[],
                form: Form::Gunzip,
                sha256: Some("5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
                bytes: Some(7_840_016),
                max_bytes: 16 * MB,
            }],
        },
        Download {
            urls: &[
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/t10k-labels-idx1-ubyte.gz",
            ],
            name: "t10k-labels-idx1-ubyte.gz",
            packing: Packing::Plain,
            sha256: Some("67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
            bytes: Some(5_148),
            max_bytes: MB,
            files: &[File {
                member: "t10k-labels-idx1-ubyte.gz",
                name: "t10k-labels-idx1-ubyte",
                also: &[],
                form: Form::Gunzip,
                sha256: Some("0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
                bytes: Some(10_008),
                max_bytes: MB,
            }],
        },
    ],
    layout: Layout::Idx {
        train: ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"],
        test: ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"],
        classes: &[
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ],
    },
    note: "Debian's package dataset-fashion-mnist has the same files: --from /usr/share/datasets/fashion-mnist.",
};
