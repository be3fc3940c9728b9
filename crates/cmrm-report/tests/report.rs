//! A report made of invented numbers: complete, harmless to open, and drawn.

use cmrm_report::*;

fn estimate(value: f64) -> Estimate {
    Estimate { value, low: value - 0.03, high: value + 0.03 }
}

fn content(cells: &[(&str, &str)]) -> Content {
    Content { picture: None, cells: cells.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(), more: 2 }
}

fn difference(low: f64, high: f64) -> Difference {
    Difference { accuracy: Estimate { value: (low + high) / 2.0, low, high }, log_loss: None, calibration: None }
}

fn self_check() -> SelfCheck {
    SelfCheck {
        schema: SELF_CHECK_SCHEMA.into(),
        wanted_precision: None,
        suspects: 60,
        planted: 30,
        found: 24,
        recall: estimate(0.8),
        recall_of_hard: estimate(0.5),
        expected_recall: 0.75,
        precision: Some(estimate(0.9)),
        expected_precision: Some(0.92),
        looked_right: 200,
        false_alarms: 5,
        noise_before: 0.2,
        noise_due: 0.29,
        noise_found: Some(0.28),
        planted_wrong_probability: Some(0.7),
        right_wrong_probability: Some(0.03),
    }
}

/// Two classes whose names try to break out of the page.
const HOSTILE: [&str; 2] = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(2)>'"];

fn full() -> Report {
    let classes: Vec<String> = HOSTILE.iter().map(|&name| name.into()).collect();
    let arm = |name: &str, is_base: bool, accuracy: f64| Arm {
        name: name.into(),
        is_base,
        epoch: Some(9),
        metrics: vec![("accuracy".into(), estimate(accuracy)), ("log_loss".into(), estimate(0.5))],
        corrected_metrics: vec![("accuracy".into(), estimate(accuracy + 0.05))],
        sets: Some(Sets { wanted: 0.9, coverage: estimate(0.98), size: estimate(1.9) }),
        corrected_sets: Some(Sets { wanted: 0.9, coverage: estimate(0.92), size: estimate(1.3) }),
        risk_coverage: Some(RiskCoverage {
            points: (1..=20).map(|i| (0.05 * f64::from(i), 0.05 * f64::from(i) * (1.0 - accuracy))).collect(),
            area: estimate(0.04),
            corrected: true,
        }),
    };
    let epoch = |arm: &str, epoch: usize| Epoch {
        arm: arm.into(),
        epoch,
        on: arm == "robust" && epoch > 2,
        base: 1.0 / (1.0 + epoch as f64),
        risk: -0.2,
        total: 1.0 / (1.0 + epoch as f64) - 0.2,
        tau: (arm == "robust" && epoch > 2).then_some(0.1),
        tau_plus: None,
        tau_minus: None,
        filtered: 0.4,
        wrong_among_filtered: Some(0.6),
        validation_accuracy: Some(0.5 + 0.01 * epoch as f64),
    };
    let settings = |values: &[f64]| {
        let one = |&value: &f64| Setting {
            value,
            chosen: value == 0.5,
            validation: Some(estimate(0.6)),
            judged: Some(estimate(0.8)),
        };
        values.iter().map(one).collect::<Vec<_>>()
    };
    Report {
        schema: SCHEMA.into(),
        data: "a & b <b>bold</b>".into(),
        sizes: Sizes { train: 300, validation: 30, judged: 60, unlabelled: 1, features: 4, classes: classes.clone() },
        noise: Some("symmetric:0.4".into()),
        wrong_share: Some(0.4),
        judged_by: "clean labels".into(),
        arms: vec![arm("base", true, 0.8), arm("robust", false, 0.9)],
        members: Vec::new(),
        difference: Some(difference(0.04, 0.16)),
        audit: Audit {
            rows: 300,
            issues: 30,
            out_of_sample: false,
            noise: Some(estimate(0.12)),
            expected: Some([0.93, 0.84]),
            precision: Some(0.9),
            recall: Some(0.8),
            pairs: vec![Pair { given: 0, suggested: 1, rows: 20 }, Pair { given: 1, suggested: 0, rows: 10 }],
        },
        self_check: Some(self_check()),
        warnings: vec!["a <b> & c".into()],
        suspects: vec![Card {
            row: 7,
            id: None,
            given: classes[0].clone(),
            suggested: classes[1].clone(),
            margin: -0.9,
            content: content(&[("col\"umn<i>", "</table><script>alert(3)</script>")]),
            neighbours: vec![Neighbour { row: 8, label: classes[1].clone(), content: content(&[("col", "1")]) }],
        }],
        history: (0..10).flat_map(|e| [epoch("base", e), epoch("robust", e)]).collect(),
        envelope: Envelope { lambda: 1.0, alpha: 0.5, temperature: 0.2, ceiling: None },
        margins: Margins { right: (0..40).collect(), wrong: Some((0..40).rev().collect()), tau: -0.1 },
        density: Some(Density {
            curve: (0..50).map(|i| (-1.0 + f64::from(i) / 25.0, 0.5)).collect(),
            bandwidth: 0.05,
            batch: 128,
            delta: 0.05,
            bound: Some(0.1),
            warning: None,
            seen: Some((0.01, 0.05)),
            check: Some(CleanCheck { wrong: 0.4, share_gap: 0.2, share_limit: 0.4, risk_gap: 0.9, risk_limit: 0.8 }),
        }),
        confidence: classes
            .iter()
            .map(|class| Confidence {
                class: class.clone(),
                base: Some(vec![3; 20]),
                right: vec![2; 20],
                wrong: Some(vec![1; 20]),
            })
            .collect(),
        sensitivity: Some(Sensitivity {
            alpha: settings(&[0.1, 0.5, 0.9]),
            lambda: settings(&[0.0, 0.5, 1.0]),
            judged_by: "clean labels".into(),
        }),
        origin: Origin {
            seed: 3,
            threads: 2,
            version: "0.1.0".into(),
            fingerprint: "abc".into(),
            rows_fingerprint: None,
            config: "data = \"</pre><script>\"".into(),
        },
    }
}

/// A run without base arm, truth, rows to judge or anything optional.
fn least() -> Report {
    let mut report = full();
    report.arms.retain(|arm| !arm.is_base);
    report.arms[0].metrics.clear();
    report.arms[0].corrected_metrics.clear();
    (report.arms[0].sets, report.arms[0].corrected_sets, report.arms[0].risk_coverage) = (None, None, None);
    report.history.retain(|epoch| epoch.arm != "base");
    for epoch in &mut report.history {
        (epoch.wrong_among_filtered, epoch.validation_accuracy) = (None, None);
    }
    report.confidence.iter_mut().for_each(|class| (class.base, class.wrong) = (None, None));
    Report {
        noise: None,
        wrong_share: None,
        difference: None,
        audit: Audit { issues: 0, precision: None, recall: None, pairs: Vec::new(), ..report.audit },
        self_check: None,
        warnings: Vec::new(),
        suspects: Vec::new(),
        margins: Margins { wrong: None, ..report.margins },
        density: None,
        sensitivity: None,
        ..report
    }
}

#[test]
fn the_page_asks_nothing_of_anyone_and_runs_its_own_script_alone() {
    let page = page(&full());
    for forbidden in ["http://", "https://", "<iframe", "<link rel=\"stylesheet\"", "@import", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("default-src 'none'"));
    for source in page.split("src=\"").skip(1) {
        assert!(source.starts_with("data:"), "{}", &source[..40]);
    }
}

#[test]
fn names_and_values_are_shown_as_text() {
    let page = page(&full());
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x") && !page.contains("<b>bold"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&lt;/table&gt;&lt;script&gt;alert(3)&lt;/script&gt;"));
    assert!(page.contains("<strong>Warning:</strong> a &lt;b&gt; &amp; c.</p>"));
    for figure in figures(&full()) {
        assert!(!svg(&figure).contains("<script"), "{}", figure.id);
    }
}

#[test]
fn the_verdict_comes_first_and_says_no_more_than_the_numbers() {
    let verdict = |low: f64, high: f64| {
        let report = Report { difference: Some(difference(low, high)), ..full() };
        let page = page(&report);
        let (at, table) = (page.find("class=\"verdict").unwrap(), page.find("<table").unwrap());
        assert!(at < table);
        page[at..].split("</p>").next().unwrap().to_owned()
    };
    assert!(verdict(0.04, 0.16).contains("helped: more accurate.</strong>"));
    assert!(verdict(-0.16, -0.04).contains("hurt: less accurate. The base arm is the better model here.</strong>"));
    assert!(verdict(-0.04, 0.16).contains("No difference beyond chance on these rows.</strong>"));
    assert!(verdict(-0.16, -0.04).contains("accuracy −0.1000 (−0.1600 to −0.0400). On 60 rows, by clean labels."));
    assert!(page(&least()).contains("Not compared: the base arm was not trained"));
    // A weak model's estimate comes with a warning, a strong one's without.
    let caution = |accuracy: f64| {
        let mut report = full();
        report.history.iter_mut().for_each(|epoch| epoch.validation_accuracy = Some(accuracy));
        page(&report).contains("class=\"caution\"")
    };
    assert!(caution(0.2) && !caution(0.8));
    // One of the two claims of the invented numbers fails, and the page says so.
    assert!(page(&full()).contains("does not hold"));
}

#[test]
fn the_verdict_weighs_every_measure_and_says_where_they_disagree() {
    let estimate = |value: f64| Some(Estimate { value, low: value - 0.1, high: value + 0.1 });
    let words = |accuracy: f64, log_loss: f64, calibration: f64| {
        let accuracy = estimate(accuracy).unwrap();
        let found = Difference { accuracy, log_loss: estimate(log_loss), calibration: estimate(calibration) }.verdict();
        (found.kind, found.words)
    };
    let said = |kind, text: &str| (kind, text.to_owned());
    assert_eq!(
        words(0.2, -0.2, -0.2),
        said("helped", "The envelope helped: more accurate, better in log loss and better calibrated.")
    );
    assert_eq!(
        words(0.0, -0.2, -0.2),
        said(
            "helped",
            "The envelope helped: better in log loss and better calibrated; no difference beyond chance in accuracy."
        )
    );
    assert_eq!(
        words(0.2, 0.0, 0.2),
        said(
            "mixed",
            "The envelope is more accurate, but less well calibrated; no difference beyond chance in log loss."
        )
    );
    assert_eq!(
        words(-0.2, 0.2, 0.0),
        said(
            "hurt",
            "The envelope hurt: less accurate and worse in log loss; no difference beyond chance in calibration. \
             The base arm is the better model here."
        )
    );
    assert_eq!(words(0.0, 0.0, 0.0), said("none", "No difference beyond chance on these rows."));
}

#[test]
fn corrected_metrics_have_rows_of_their_own_and_the_curve_says_which_labels() {
    let text = page(&full());
    assert!(text.contains("accuracy, corrected for wrong labels") && text.contains("with the estimated noise undone"));
    let figure = |report: &Report| figures(report).into_iter().find(|figure| figure.id == "risk-coverage").unwrap();
    let corrected = figure(&full());
    assert!(corrected.note.contains("base 0.0400 [0.0100, 0.0700]") && corrected.note.contains("abstain-above"));
    assert!(corrected.note.contains("clean labels, corrected for the estimated noise"));
    assert!(corrected.alt.contains("robust errs on 10.0 % of all rows and on 0.5 % of the surest 5.0 %"));
    let mut plain = full();
    for arm in &mut plain.arms {
        arm.corrected_metrics.clear();
        arm.risk_coverage.as_mut().unwrap().corrected = false;
    }
    assert!(
        !page(&plain).contains("accuracy, corrected for wrong labels")
            && !figure(&plain).note.contains("estimated noise")
    );
}

#[test]
fn every_figure_is_there_with_words_and_something_drawn() {
    let drawn = figures(&full());
    let ids: Vec<&str> = drawn.iter().map(|figure| figure.id).collect();
    let expected = [
        "difference",
        "risk-coverage",
        "sets",
        "confusion",
        "self-check",
        "margins",
        "density",
        "losses",
        "validation",
        "filtered",
        "threshold",
        "confidence",
        "sensitivity",
    ];
    assert_eq!(ids, expected);
    let page = page(&full());
    for figure in &drawn {
        assert!(figure.title.len() > 10 && figure.alt.len() > 20 && figure.note.len() > 10, "{}", figure.id);
        assert!(page.contains(&format!("id=\"figure-{}\"", figure.id)));
        let text = svg(figure);
        assert!(text.starts_with("<svg xmlns") && text.ends_with("</svg>\n") && text.contains("<title>"));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{}", figure.id);
        let pixels = raster(&figure.scene, 2.0).unwrap();
        assert_eq!((pixels.width, pixels.channels), ((2.0 * figure.scene.width) as usize, 3));
        let inked = pixels.bytes.chunks(3).filter(|pixel| pixel != &[255, 255, 255]).count();
        assert!(inked > pixels.bytes.len() / 3 / 200, "{}: {inked} pixels", figure.id);
        assert_eq!(encode_png(&pixels).unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
    }
    let least: Vec<&str> = figures(&least()).iter().map(|figure| figure.id).collect();
    assert_eq!(least, ["margins", "losses", "filtered", "threshold", "confidence"]);
}

#[test]
fn a_self_check_says_where_its_recall_is_too_good() {
    let few = " fewer labels are wrong by estimate than were flipped";
    assert!(!page(&full()).contains(few));
    let check = SelfCheck { noise_before: 0.03, noise_due: 0.12, ..self_check() };
    assert!(page(&Report { self_check: Some(check.clone()), ..full() }).contains(few) && check.to_text().contains(few));
    let nothing = SelfCheck { precision: None, expected_precision: None, noise_found: None, ..check };
    let words = nothing.to_text();
    assert!(words.contains("no suspects to judge") && words.contains("no longer tell the labels"), "{words}");
}

#[test]
fn thresholds_of_the_two_classes_are_drawn_where_a_run_has_them() {
    let mut report = full();
    for epoch in report.history.iter_mut().filter(|epoch| epoch.tau.is_some()) {
        (epoch.tau, epoch.tau_plus, epoch.tau_minus) = (None, Some(0.3), Some(0.8));
    }
    let figure = figures(&report).into_iter().find(|figure| figure.id == "threshold").unwrap();
    assert_eq!(figure.title, "Thresholds τ⁺ and τ⁻ over training");
    assert!(figure.alt.contains("τ⁺ ends at 0.300, τ⁻ ends at 0.800"));
}

#[test]
fn a_threshold_under_a_ceiling_is_drawn_there_and_not_at_the_quantile() {
    let mut report = full();
    let note = |report: &Report, id: &str| figures(report).into_iter().find(|f| f.id == id).unwrap().note;
    report.margins.tau = 0.4;
    assert!(!note(&report, "margins").contains("at most"));
    report.envelope.ceiling = Some(0.5);
    assert!(!note(&report, "margins").contains("at most"), "the quantile is below the ceiling");
    report.envelope.ceiling = Some(0.0);
    assert!(note(&report, "margins").contains("but at most 0"));
    assert!(note(&report, "density").contains("the threshold itself is kept at 0"));
}

#[test]
fn right_and_wrong_labels_differ_in_grey() {
    let figure = figures(&full()).into_iter().find(|figure| figure.id == "margins").unwrap();
    let mut greys = figure.scene.marks.iter().filter_map(|mark| match mark {
        Mark::Area { ink: ink @ (Ink::Accent | Ink::Envelope), opacity, .. } => {
            let [r, g, b] = ink.on_paper().map(|value| 255.0 - opacity * (255.0 - f64::from(value)));
            Some((*ink, 0.299 * r + 0.587 * g + 0.114 * b))
        }
        _ => None,
    });
    let first = greys.next().unwrap();
    let other = greys.find(|grey| grey.0 != first.0).unwrap();
    assert!((first.1 - other.1).abs() > 60.0, "{first:?} {other:?}");
}

#[test]
fn a_stored_report_comes_back_the_same() {
    let text = serde_json::to_string(&full()).unwrap();
    assert!(serde_json::from_str::<Report>(&text).unwrap() == full());
    // The form of earlier versions.
    let earlier: Difference = serde_json::from_str(r#"{"value":0.1,"low":0.04,"high":0.16}"#).unwrap();
    assert_eq!(earlier, Difference { accuracy: Estimate { value: 0.1, low: 0.04, high: 0.16 }, ..earlier });
    assert_eq!((earlier.log_loss, earlier.calibration), (None, None));
}

#[test]
fn pictures_that_cannot_be_are_refused() {
    let pixels = |width, height, channels, bytes| Pixels { width, height, channels, bytes };
    assert!(data_uri(&pixels(2, 1, 1, vec![0, 255])).unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"));
    for bad in [pixels(2, 2, 1, vec![0]), pixels(0, 0, 1, Vec::new()), pixels(1, 1, 2, vec![0, 0])] {
        assert_eq!(encode_png(&bad), None);
    }
}

/// Relative luminance of a colour, as WCAG defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = |value: f64| {
        let value = value / 255.0;
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn every_ink_can_be_read_in_both_themes_and_on_paper() {
    let page = page(&full());
    let colour = |theme: &str, name: &str| {
        let text = theme.split(&format!("--{name}: #")).nth(1).unwrap();
        let value = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap());
        [value(0), value(2), value(4)]
    };
    let light = page.split(":root {").nth(1).unwrap();
    let dark = page.split(":root[data-theme=\"dark\"] {").nth(1).unwrap();
    for theme in [light, dark] {
        for name in ["text", "muted", "base", "envelope", "accent"] {
            let ink = colour(theme, name);
            assert!(contrast(ink, colour(theme, "paper")) >= 4.5, "{name}");
            assert!(name == "base" || contrast(ink, colour(theme, "raised")) >= 4.5, "{name} on the raised ground");
        }
        // Counts on the fullest cell of the matrix of labels.
        let (paper, ink) = (colour(theme, "paper"), colour(theme, "envelope"));
        let figure = figures(&full()).into_iter().find(|figure| figure.id == "confusion").unwrap();
        let strongest = figure.scene.marks.iter().filter_map(|mark| match mark {
            Mark::Area { ink: Ink::Envelope, opacity, .. } => Some(*opacity),
            _ => None,
        });
        let strongest = strongest.fold(0.0, f64::max);
        let cell = [0, 1, 2].map(|i| paper[i] + strongest * (ink[i] - paper[i]));
        assert!(contrast(colour(theme, "text"), cell) >= 4.5);
    }
    for ink in [Ink::Text, Ink::Muted, Ink::Base, Ink::Envelope, Ink::Accent] {
        assert!(contrast(ink.on_paper().map(f64::from), [255.0; 3]) >= 4.5, "{ink:?}");
    }
}
