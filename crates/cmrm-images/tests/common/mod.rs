//! Images that tests make: bright bars at a place that tells the class, with a little noise.

// Each test file uses a part of this.
#![allow(dead_code)]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cmrm::rng::Rng;
use cmrm_images::data::{ImageSet, Images};
use cmrm_images::plan::Plan;
use cmrm_images::train::{Control, Ended, train_all};
use tch::Device;

pub const CLASSES: usize = 4;

pub fn images(rows: usize, side: usize, seed: u64) -> Images {
    let mut rng = Rng::new(seed, 0);
    let mut images = Images { height: side, width: side, channels: 1, ..Images::default() };
    for row in 0..rows {
        let class = row % CLASSES;
        let band = side / CLASSES;
        for y in 0..side {
            for _ in 0..side {
                let bright = if y / band == class { 150 } else { 20 };
                images.pixels.push(bright + rng.below(60) as u8);
            }
        }
        images.labels.push(class as u32);
    }
    images
}

pub fn set(rows: usize) -> ImageSet {
    let classes = (0..CLASSES).map(|class| class.to_string()).collect();
    ImageSet { train: images(rows, 8, 1), test: images(80, 8, 2), classes, coarse_of: None }
}

pub fn plan(text: &str) -> Plan {
    let head = r#"
        name = "test"
        data = "nowhere"
        network = "cnn"
        batch = 16
        augment = { padding = 1, flip = true }
    "#;
    toml::from_str(&format!("{head}\n{text}")).unwrap()
}

pub fn train(plan: &Plan, set: &ImageSet, root: &Path, stop: &AtomicBool) -> Ended {
    let control = Control {
        root: root.to_owned(),
        device: Device::Cpu,
        workers: 1,
        deadline: None,
        checkpoint_every: 1,
        stop,
        say: &|_| {},
    };
    train_all(vec![(plan.runs().unwrap(), set.clone())], &control).unwrap()
}
