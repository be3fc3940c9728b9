//! Miniature experiments end to end: all protocols in seconds, shards that merge, results that are not trained twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cmrm::rng::Rng;
use cmrm_data::write::NpyWriter;
use cmrm_datasets::Cache;
use cmrm_reproduce::{Experiment, Options, Outcome, Results, Verdict, csv, html, latex, markdown, report, run};

fn binary() -> Experiment {
    Experiment::parse("mini/binary.toml", include_str!("mini/binary.toml")).unwrap()
}

fn train(experiment: &Experiment, options: &Options, data: &Path, out: &Path, threads: usize) -> Outcome {
    run(std::slice::from_ref(experiment), options, &Cache::at(data), out, threads, None, &|_| {}).unwrap()
}

/// The report in all its forms.
fn written(experiment: &Experiment, cells: &[PathBuf]) -> [String; 4] {
    let results = Results::read(cells).unwrap();
    let report = report(std::slice::from_ref(experiment), &results, &Options::default(), Path::new(".")).unwrap();
    let document = &report.document;
    [markdown(document, "figures"), csv(&report.comparisons), latex(document), html(document)]
}

fn files(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()))
    };
    entries.map(read).collect()
}

#[test]
fn all_protocols_run_and_the_report_says_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = train(&binary(), &Options::default(), folder.path(), folder.path(), 2);
    assert!(outcome.failed.is_empty(), "{outcome:?}");
    // LR: two seeds of seven arms and one of four; SVM: two of eight and one of four.
    assert_eq!(files(folder.path()).len(), 2 * 7 + 4 + 2 * 8 + 4);
    let cells = [folder.path().to_owned()];
    let [text, table, tex, page] = written(&binary(), &cells);
    for expected in ["Protocol `authors`", "Protocol `fair`", "`base-fresh`", "`robust`", "| LR | `base` | 3 |"] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    // The paper has no such table.
    assert!(!text.contains("Printed"), "{text}");
    // Three protocols: base and arms of each loss, eight metrics.
    let rows = 8 * ((3 + 5 + 3) + (3 + 6 + 3));
    assert_eq!(table.lines().count(), 1 + rows);
    assert!(tex.contains("\\toprule") && tex.matches("\\begin{table}").count() == 3 && !tex.contains("5 %"));
    assert!(page.contains("<table>") && page.contains("<code>penalise</code>"));
    let results = Results::read(&cells).unwrap();
    let found = report(&[binary()], &results, &Options::default(), Path::new(".")).unwrap().comparisons;
    let accuracy = found.iter().find(|c| c.arm == "base" && c.metric == "accuracy").unwrap();
    assert!((60.0..100.0).contains(&accuracy.mean), "{accuracy:?}");
    // The verdicts follow from the intervals.
    for c in found.iter().filter(|c| c.verdict != Verdict::Open) {
        let (low, high) = c.difference.unwrap().1.unwrap();
        assert!(low > 0.0 || high < 0.0, "{c:?}");
    }
}

#[test]
fn three_shards_and_a_merge_give_the_table_of_one_run_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, merged] = ["whole", "merged"].map(|name| folder.path().join(name));
    train(&binary(), &Options::default(), folder.path(), &whole, 3);
    fs::create_dir(&merged).unwrap();
    for part in 1..=3 {
        let out = folder.path().join(format!("part{part}"));
        let options = Options { shard: Some(format!("{part}/3").parse().unwrap()), ..Options::default() };
        let outcome = train(&binary(), &options, folder.path(), &out, 1);
        assert!(outcome.done > 0 && outcome.failed.is_empty());
        for (name, (bytes, _)) in files(&out) {
            assert!(!merged.join(&name).exists(), "{name} in two shards");
            fs::write(merged.join(name), bytes).unwrap();
        }
    }
    assert_eq!(files(&whole).keys().collect::<Vec<_>>(), files(&merged).keys().collect::<Vec<_>>());
    assert_eq!(written(&binary(), &[whole]), written(&binary(), &[merged]));
}

#[test]
fn what_is_there_is_not_trained_again_and_what_is_damaged_is() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cells");
    let one = Options { seeds: Some(1), ..Options::default() };
    train(&binary(), &one, folder.path(), &out, 2);
    let before = files(&out);
    assert_eq!(train(&binary(), &one, folder.path(), &out, 2), Outcome::default());
    // One cell is cut off, another is of other settings under this one's name, a third is gone.
    let names: Vec<&String> = before.keys().filter(|name| name.contains(".lr.")).collect();
    let [cut, swapped, gone] = [0, 1, 2].map(|at| out.join(names[at]));
    fs::write(&cut, &before[names[0]].0[..40]).unwrap();
    fs::write(&swapped, &before[names[3]].0).unwrap();
    fs::remove_file(&gone).unwrap();
    train(&binary(), &one, folder.path(), &out, 2);
    let after = files(&out);
    let numbers = |bytes: &[u8]| {
        let mut result: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        result.as_object_mut().unwrap().remove("seconds");
        result
    };
    for (name, (bytes, time)) in &before {
        assert_eq!(numbers(bytes), numbers(&after[name].0), "{name}");
        let again = names[..3].contains(&name);
        assert!(again || *time == after[name].1, "{name} was trained again");
    }
}

#[test]
fn one_file_of_many_lines_is_as_good_as_a_folder_and_mixed_data_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cells");
    train(&binary(), &Options { seeds: Some(2), ..Options::default() }, folder.path(), &out, 2);
    let bundle = folder.path().join("all.jsonl");
    let lines: Vec<u8> = files(&out).into_values().flat_map(|(bytes, _)| bytes).collect();
    fs::write(&bundle, &lines).unwrap();
    assert_eq!(written(&binary(), std::slice::from_ref(&out)), written(&binary(), std::slice::from_ref(&bundle)));
    // A run goes on from such a file too.
    let lines_only = folder.path().join("lines");
    fs::create_dir(&lines_only).unwrap();
    fs::copy(&bundle, lines_only.join("all.jsonl")).unwrap();
    let three = Options { seeds: Some(3), ..Options::default() };
    train(&binary(), &three, folder.path(), &lines_only, 2);
    assert!(files(&lines_only).keys().all(|name| name == "all.jsonl" || name.contains(".2.")));
    assert!(files(&lines_only).len() > 1);
    let other = String::from_utf8(lines).unwrap().replace("\"data\":\"", "\"data\":\"0");
    fs::write(folder.path().join("other.jsonl"), other).unwrap();
    let error = Results::read(&[bundle, folder.path().join("other.jsonl")]).unwrap_err().to_string();
    assert!(error.contains("other.jsonl") && error.contains("other data"), "{error}");
}

#[test]
fn probes_choose_by_observed_labels_and_fit_on_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    write_blobs(folder.path());
    let probe = Experiment::parse("mini/probe.toml", include_str!("mini/probe.toml")).unwrap();
    let out = folder.path().join("cells");
    let outcome = train(&probe, &Options::default(), folder.path(), &out, 2);
    assert!(outcome.failed.is_empty(), "{outcome:?}");
    // Each kind of labels: base, three folds and a fit of `paper`, a fit of `robust`.
    assert_eq!(files(&out).len(), 2 * (1 + 4 + 1));
    let [text, ..] = written(&probe, std::slice::from_ref(&out));
    assert!(text.contains("| some | `base` |") && text.contains("| `robust` |"), "{text}");
    assert_eq!(train(&probe, &Options::default(), folder.path(), &out, 1), Outcome::default());
    fs::write(folder.path().join("labels.csv"), "noisy,clean_label\n1,1\n").unwrap();
    let options = Options::default();
    let error = run(&[probe], &options, &Cache::at(folder.path()), &out, 1, None, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("labels.csv") && error.contains("1 labels for 240 rows"), "{error}");
}

#[test]
fn figures_are_drawn_from_a_table_and_from_a_probe() {
    let folder = tempfile::tempdir().unwrap();
    write_blobs(folder.path());
    let mini = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mini");
    for (file, row, arm, expected) in [
        ("binary.toml", "LR", "penalise", &["margins", "losses", "filtered", "threshold", "confidence"][..]),
        ("probe.toml", "some", "paper", &["margins", "sensitivity", "density", "threshold"]),
    ] {
        let text = format!(
            "name = \"mini-figures\"\ntitle = \"Figures\"\npaper = \"nowhere\"\n[figures]\nof = {:?}\nrow = \"{row}\"\n\
             arm = \"{arm}\"\nalphas = [0.1, 0.3]\nlambdas = [0.1, 1.0]\n",
            mini.join(file)
        );
        let figures = Experiment::parse("figures.toml", &text).unwrap();
        let out = folder.path().join(row);
        let outcome = train(&figures, &Options::default(), folder.path(), &out, 1);
        assert!(outcome.failed.is_empty() && outcome.done == 1, "{outcome:?}");
        let [text, _, _, page] = written(&figures, std::slice::from_ref(&out));
        for figure in expected {
            assert!(text.contains(&format!("(figures/mini-figures-{figure}.svg)")), "{figure} in\n{text}");
        }
        assert!(page.matches("<figure>").count() >= expected.len() && !page.contains("NaN"));
        assert_eq!(train(&figures, &Options::default(), folder.path(), &out, 1), Outcome::default());
    }
    let unknown =
        "name = \"x\"\ntitle = \"\"\npaper = \"\"\n[figures]\nof = \"binary-adult\"\nrow = \"LR\"\narm = \"base\"\n";
    let error = Experiment::parse("x.toml", unknown).unwrap_err().to_string();
    assert!(error.contains("binary-adult has no envelope 'base'"), "{error}");
}

#[test]
fn image_results_are_compared_by_seed_and_their_absence_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"images-cifar100\"\ntitle = \"Images\"\npaper = \"\"\n[images]\nresults = \"runs\"\n[[images.rows]]\n\
                protocol = \"authors\"\nrow = \"CE\"\nsetting = \"20 %, 200 epochs\"\nplans = [\"p\"]\nbase = \"ce\"\narms = [\"authors\", \"robust\"]\n";
    let images = Experiment::parse("images.toml", text).unwrap();
    let written = || {
        let report = report(std::slice::from_ref(&images), &Results::default(), &Options::default(), folder.path());
        markdown(&report.unwrap().document, "figures")
    };
    assert!(written().contains("no results in runs"));
    fs::create_dir(folder.path().join("runs")).unwrap();
    let line = |arm: &str, seed: u64, accuracy: f64| {
        format!(
            "{{\"plan\":\"p\",\"arm\":\"{arm}\",\"seed\":{seed},\"accuracy\":{accuracy},\"mean_set_size\":4.5,\"more\":1}}\n"
        )
    };
    let lines =
        [line("ce", 0, 0.64), line("ce", 1, 0.65), line("authors", 1, 0.66), line("authors", 0, 0.655)].concat();
    fs::write(folder.path().join("runs/results.jsonl"), lines).unwrap();
    let text = written();
    assert!(text.contains("| 64.50 ± 0.71 |") && text.contains("| 65.16 | 66.32 | +1.16 | 64.50 | +1.25 ["), "{text}");
    assert!(
        text.contains("as the authors compare:** 5 of 60 are compared: 3 undecided, 2 without an interval."),
        "{text}"
    );
    assert!(text.contains("Not run: robust (20 %, 200 epochs)"), "{text}");
    // +1.5 and +1.0 points: the interval of two seeds holds zero.
    assert!(text.contains("raises accuracy does not hold.** 0 better, 0 worse, 1 open"), "{text}");
    assert!(text.contains("CE 20 % 200 epochs `authors` +1.25."), "{text}");
    fs::write(folder.path().join("runs/results2.jsonl"), "{}").unwrap();
    let error = report(&[images], &Results::default(), &Options::default(), folder.path()).unwrap_err().to_string();
    assert!(error.contains("results2.jsonl") && error.contains("line 1"), "{error}");
}

/// Three blobs in four dimensions, a fifth of the labels wrong in one of two columns.
fn write_blobs(folder: &Path) {
    let mut rng = Rng::new(4, 0);
    let mut array = |name: &str, labels: &[usize]| {
        let mut writer = NpyWriter::new(fs::File::create(folder.join(name)).unwrap(), 4).unwrap();
        for &label in labels {
            let row: Vec<f32> = (0..4).map(|j| (2.0 * f64::from(u8::from(j == label)) + rng.normal()) as f32).collect();
            writer.write(&row).unwrap();
        }
        writer.finish().unwrap();
    };
    let labels: Vec<usize> = (0..240).map(|i| i % 3).collect();
    array("train0.npy", &labels[..100]);
    array("train1.npy", &labels[100..]);
    array("test.npy", &labels);
    let column = |of: &dyn Fn(usize) -> usize| (0..240).map(of).collect::<Vec<_>>();
    let noisy = column(&|i| if i % 5 == 0 { (labels[i] + 1) % 3 } else { labels[i] });
    let table: String = (0..240).map(|i| format!("{},{}\n", noisy[i], labels[i])).collect();
    fs::write(folder.join("labels.csv"), format!("noisy,clean_label\n{table}")).unwrap();
    let truth: String = labels.iter().map(|label| format!("{label}\n")).collect();
    fs::write(folder.join("test-labels.csv"), format!("label\n{truth}")).unwrap();
}
