//! The command from files to a file.

use std::path::Path;
use std::process::{Command, Output};

use cmrm_data::Features;
use cmrm_data::read::{ReadOptions, read_path};
use image::RgbImage;

use super::{FEATURES, OPEN, SIDE, embed, images, plain};

/// A folder of PNG files by class, six to train on and four to judge by.
fn image_folder(root: &Path) {
    for (part, rows) in [("train", 3), ("test", 2)] {
        for class in ["cat", "dog"] {
            let folder = root.join(part).join(class);
            std::fs::create_dir_all(&folder).unwrap();
            for row in 0..rows {
                let pixels = images(1 + row, SIDE, 3).pixels.split_off(3 * row * SIDE * SIDE);
                let image = RgbImage::from_raw(SIDE as u32, SIDE as u32, pixels).unwrap();
                image.save(folder.join(format!("{row}.png"))).unwrap();
            }
        }
    }
}

fn run(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmrm-images"));
    command.current_dir(folder).args(["--device", "cpu", "embed"]).args(arguments).output().unwrap()
}

fn array(path: &Path) -> (Vec<f32>, usize) {
    match read_path(path, &ReadOptions::default()).unwrap().features {
        Features::Array(array) => (array.values().to_vec(), array.width()),
        _ => panic!("a table"),
    }
}

#[test]
fn features_of_a_folder_are_written_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    image_folder(&here.join("pets"));
    let path = plain(here, OPEN);
    let asked = ["--onnx", "model.onnx", "--data", "pets", "--part", "test", "--out", "features.npy"];
    let done = run(&[&asked[..], &["--labels", "labels.npy"]].concat(), here);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("4 rows of 5 features ('logits')"), "{said}");
    let (values, width) = array(&here.join("features.npy"));
    assert_eq!((values.len(), width), (4 * FEATURES, FEATURES));
    let set = cmrm_images::data::read_images(&here.join("pets"), None).unwrap();
    assert_eq!(values, embed(&path, Default::default(), &set.test).unwrap().0);
    assert!(here.join("labels.npy").is_file());

    let before = std::fs::read(here.join("features.npy")).unwrap();
    let refused = run(&[&asked[..], &["--output", "logit"]].concat(), here);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("did you mean 'logits'?"), "{said}");
    assert_eq!(std::fs::read(here.join("features.npy")).unwrap(), before);
    let names: Vec<_> = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn what_is_said_of_a_model_is_refused_for_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(&["some-run", "--size", "32", "--data", "pets", "--out", "features.npy"], folder.path());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("--size") && said.contains("cannot be used"), "{said}");
}
