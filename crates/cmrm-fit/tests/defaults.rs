//! Settings whose default depends on the model.

use cmrm::envelope::{EnvelopeConfig, Fade, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_fit::{FitConfig, Keep, ModelKind, OptimiserKind, Space, auto_candidates};
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Method, Selection, Term};

fn of(model: ModelKind) -> FitConfig {
    FitConfig { model: Some(model), ..FitConfig::default() }
}

/// Optimiser, epochs, steps, penalty.
type Found = (OptimiserKind, Option<usize>, Option<usize>, Option<f64>);

fn found(config: &FitConfig) -> Found {
    (config.optimiser(), config.epochs(), config.steps(), config.l2())
}

const IN_PASSES: Found = (OptimiserKind::Adam, None, Some(2000), Some(0.0));

#[test]
fn a_linear_model_is_fitted_to_its_optimum_and_the_others_in_passes() {
    assert_eq!(found(&of(ModelKind::Linear)), (OptimiserKind::Lbfgs, Some(1000), None, None));
    for model in [ModelKind::Svm, ModelKind::Cosine] {
        assert_eq!(found(&of(model)), IN_PASSES, "{model:?}");
        assert_eq!(of(model).weight_decay(), 0.0, "{model:?}");
    }
    // A network's weights decay; whoever names the decay or another optimiser has that.
    let network = of(ModelKind::Mlp);
    assert_eq!(found(&network), (OptimiserKind::Adamw, None, Some(2000), Some(0.0)));
    assert_eq!(network.weight_decay(), 1.0);
    assert_eq!(FitConfig { weight_decay: Some(0.1), ..network.clone() }.weight_decay(), 0.1);
    assert_eq!(FitConfig { optimiser: Some(OptimiserKind::Adam), ..network }.weight_decay(), 0.0);
    // The hinge has kinks, ELR's targets move, and whoever asks for Adam means all of it. Chunks come one at a time, and nobody
    // knows how many.
    assert_eq!(found(&FitConfig { loss: LossConfig::Hinge, ..of(ModelKind::Linear) }), IN_PASSES);
    assert_eq!(found(&FitConfig { loss: "elr".parse().unwrap(), ..of(ModelKind::Linear) }), IN_PASSES);
    for model in [ModelKind::Linear, ModelKind::Mlp] {
        assert_eq!(found(&of(model).in_passes()), (OptimiserKind::Adam, Some(40), None, Some(0.0)));
    }
    // An iteration of L-BFGS is not a step.
    let lbfgs = FitConfig { optimiser: Some(OptimiserKind::Lbfgs), steps: Some(7), ..of(ModelKind::Mlp) };
    assert_eq!(found(&lbfgs), (OptimiserKind::Lbfgs, Some(40), None, Some(0.0)));
    assert!(lbfgs.advice().is_some_and(|_| FitConfig { l2: Some(0.1), ..lbfgs }.advice().unwrap().contains("steps")));
    assert_eq!(found(&FitConfig { optimiser: Some(OptimiserKind::Adam), ..of(ModelKind::Linear) }), IN_PASSES);
}

#[test]
fn steps_become_whole_epochs_by_rows_and_batch() {
    let epochs = |config: &FitConfig, rows: usize| {
        let decided = config.for_rows(rows, 0);
        assert_eq!(decided.for_rows(7 * rows, 99), decided);
        assert_eq!((decided.steps, decided.train_config().epochs), (None, decided.epochs.unwrap()));
        decided.epochs.unwrap()
    };
    let usual = of(ModelKind::Mlp);
    // 2000 steps of 128 rows: 16 batches make an epoch of 2000 rows; a last batch that is not full is one too.
    assert_eq!([2000, 2048, 2049].map(|rows| epochs(&usual, rows)), [125, 125, 118]);
    assert_eq!([1, 400, 10_000, 40_000].map(|rows| epochs(&usual, rows)), [500, 500, 26, 15]);
    let told = |steps, batch| FitConfig { steps: Some(steps), batch, ..of(ModelKind::Mlp) };
    assert_eq!([(100, 10), (101, 10), (1, 10), (30, 0)].map(|(s, b)| epochs(&told(s, b), 50)), [20, 21, 15, 30]);
    // Epochs that are given stay.
    assert_eq!(epochs(&FitConfig { epochs: Some(3), ..usual.clone() }, 2000), 3);
    assert_eq!(epochs(&of(ModelKind::Linear), 2000), 1000);
    // What rows are to decide is open in the file, and decided in that of a fit.
    let open = usual.to_toml().unwrap();
    assert!(open.contains("\nsteps = 2000\n") && !open.contains("\nepochs ="), "{open}");
    let decided = usual.for_rows(2000, 0).to_toml().unwrap();
    assert!(decided.contains("\nepochs = 125\n") && !decided.contains("\nsteps ="), "{decided}");
    let both = FitConfig { epochs: Some(3), ..told(5, 128) };
    let refused = both.check().unwrap_err().to_string();
    assert_eq!(refused, "both epochs = 3 and steps = 5 are given; leave one out");
    assert!(told(0, 128).check().unwrap_err().to_string().starts_with("steps = 0 is out of range"));
}

#[test]
fn what_is_said_wins_and_the_file_has_all_of_it() {
    let config = FitConfig { epochs: Some(7), l2: Some(0.0), ..of(ModelKind::Linear) };
    assert_eq!(found(&config), (OptimiserKind::Lbfgs, Some(7), None, Some(0.0)));
    let text = config.to_toml().unwrap();
    for line in ["optimiser = \"lbfgs\"", "epochs = 7", "l2 = 0.0", "tolerance = 0.0001"] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let back = FitConfig::from_toml(&text).unwrap();
    assert_eq!(back.train_config(), config.train_config());
    assert_eq!(back.to_toml().unwrap(), text);
}

#[test]
fn the_envelope_of_a_network_comes_on_at_the_onset_and_fades_later_unless_told_otherwise() {
    let usual = Preset::Robust.config(&LossConfig::CrossEntropy);
    assert_eq!(of(ModelKind::Linear).envelope(), usual);
    let fade = Some(Fade { margin: -0.3, share: 0.1 });
    assert_eq!(of(ModelKind::Mlp).envelope(), EnvelopeConfig { start: Start::Onset(0.05), fade, ..usual });
    assert_eq!(of(ModelKind::Linear).in_passes().envelope(), of(ModelKind::Mlp).envelope());
    let given = FitConfig { start: Some(0.5), fade: usual.fade, ..of(ModelKind::Mlp) };
    assert_eq!(given.envelope(), EnvelopeConfig { start: Start::Fraction(0.5), ..usual });
    let paper = FitConfig { preset: Preset::Paper, ..of(ModelKind::Mlp) };
    assert_eq!(paper.envelope(), Preset::Paper.config(&LossConfig::CrossEntropy));
}

#[test]
fn the_epoch_of_a_network_is_chosen_by_validation_rows_where_they_are_enough() {
    let selection = |config: &FitConfig, rows: usize| config.for_rows(900, rows).train_config().selection;
    let (usual, best) = (of(ModelKind::Mlp), Selection::Best { patience: 0 });
    assert_eq!([0, 49, 50, 100].map(|rows| selection(&usual, rows)), [Selection::Last, Selection::Last, best, best]);
    assert_eq!(selection(&of(ModelKind::Linear), 100), Selection::Last);
    // What is said wins, however few the rows.
    let kept = |keep| FitConfig { keep: Some(keep), ..usual.clone() };
    assert_eq!((selection(&kept(Keep::Best), 3), selection(&kept(Keep::Last), 100)), (best, Selection::Last));
    let patient = FitConfig { patience: Some(3), ..usual.clone() };
    assert_eq!(selection(&patient, 3), Selection::Best { patience: 3 });
    let refused = FitConfig { patience: Some(3), ..kept(Keep::Last) }.check().unwrap_err().to_string();
    assert!(refused.contains("patience = 3") && refused.contains("leave one out"), "{refused}");
    assert!(usual.for_rows(900, 100).to_toml().unwrap().contains("\nkeep = \"best\"\n"));
    assert_eq!(patient.in_passes().train_config().selection, Selection::Last);
}

#[test]
fn the_rate_of_a_network_falls_to_zero_unless_told_otherwise() {
    let schedule = |config: &FitConfig| match config.train_config().method {
        Method::Stochastic { schedule, learning_rate, .. } => schedule.validate(learning_rate).unwrap(),
        Method::FullBatch(_) => panic!("by L-BFGS"),
    };
    let network = of(ModelKind::Mlp);
    let falling = schedule(&network);
    let rates = [0, 100, 199].map(|step| falling.lr_at(step, 10, 200));
    assert!(rates[0] == 1e-3 && (rates[1] - 5e-4).abs() < 1e-12 && rates[2] < 1e-7, "{rates:?}");
    // Chunks, of which nobody knows how many come, and whoever asks for it keep the rate.
    let asked = FitConfig { schedule: Some(ScheduleConfig::default()), ..network.clone() };
    for steady in [network.in_passes(), asked] {
        assert_eq!(schedule(&steady).lr_at(199, 10, 200), 1e-3);
        assert!(steady.to_toml().unwrap().contains("kind = \"constant\""));
    }
    let text = network.to_toml().unwrap();
    assert!(text.contains("kind = \"cosine\"") && text.contains("advance = \"step\""), "{text}");
    assert!(!of(ModelKind::Linear).to_toml().unwrap().contains("schedule"));
}

#[test]
fn the_tolerance_is_that_of_the_gradient() {
    let config = FitConfig { tolerance: 3e-5, ..of(ModelKind::Linear) };
    let Method::FullBatch(lbfgs) = config.train_config().method else { panic!("not by L-BFGS") };
    assert_eq!((lbfgs.gradient_tolerance, lbfgs.function_tolerance), (3e-5, 100.0 * 3e-5f64.powi(2)));
    // The engine's own two are such a pair.
    let own = LbfgsConfig::default();
    assert!((own.function_tolerance / own.gradient_tolerance.powi(2) - 100.0).abs() < 1e-9);
    let refused = FitConfig { tolerance: -1.0, ..config }.check().unwrap_err().to_string();
    assert!(refused.contains("tolerance = -1"), "{refused}");
}

#[test]
fn the_envelopes_settings_are_read_from_the_file_over_the_preset() {
    let text = "filter-base = true\nrunning = 0.9\nlimit = 0.5\n\n[fade]\nmargin = -0.3\nshare = 0.1\n";
    let config = FitConfig::from_toml(text).unwrap();
    let envelope = config.envelope();
    let fade = Fade { margin: -0.3, share: 0.1 };
    let found = (envelope.filter_base, envelope.running, envelope.limit, envelope.fade);
    assert_eq!(found, (true, Some(0.9), Some(0.5), Some(fade)));
    assert_eq!(FitConfig::from_toml(&config.to_toml().unwrap()).unwrap().envelope(), envelope);
    for (text, words) in [
        ("running = 1.0", "running = 1 is out of range"),
        ("limit = 0.0", "limit = 0 is out of range"),
        ("fade = { margin = 0.0, share = 2.0 }", "fade share = 2 is out of range"),
        ("preset = \"authors\"\nfilter-base = true", "margin probability"),
    ] {
        let refused = FitConfig::from_toml(text).unwrap().check().unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    // A weight of 0 turns the envelope off, filter and all, unless the filter is asked for.
    assert!(!FitConfig::from_toml("lambda = 0.0").unwrap().envelope().filter_base);
    assert!(FitConfig::from_toml("lambda = 0.0\nfilter-base = true").unwrap().envelope().filter_base);
}

#[test]
fn a_search_sets_them_over_their_own_preset_alone() {
    let config = FitConfig { filter_base: Some(true), epochs: Some(4), ..FitConfig::default() };
    let found = Space::default().candidates(&config).unwrap();
    for candidate in &found {
        let envelope = candidate.config.envelope();
        let is_base = candidate.setting.arm.term == Term::Base;
        // Over some losses the filter of `robust` acts without a risk.
        assert_eq!(is_base, envelope.lambda == 0.0 && !envelope.filter_base, "{}", candidate.setting.name);
        let wanted = candidate.config.preset == Preset::Robust && !is_base;
        assert_eq!(envelope.filter_base, wanted, "{}", candidate.setting.name);
    }
    assert!(Preset::ALL.iter().all(|preset| found.iter().any(|candidate| candidate.config.preset == *preset)));
}

#[test]
fn the_short_list_keeps_a_filter_that_acts_without_a_risk() {
    let gce = FitConfig { loss: "gce".parse().unwrap(), epochs: Some(4), ..FitConfig::default() };
    let found = auto_candidates(&gce).unwrap();
    let filters =
        |alpha: f64| found.iter().any(|c| c.config.envelope().filter_base && c.config.envelope().alpha == alpha);
    assert!(filters(0.5) && filters(0.3), "{:?}", found.iter().map(|c| &c.setting.name).collect::<Vec<_>>());
    assert_eq!(found.iter().filter(|candidate| candidate.setting.arm.term == Term::Base).count(), 1);
}

#[test]
fn a_weight_of_zero_turns_thresholds_by_class_off_too() {
    let weight = |lambda| {
        let config =
            FitConfig { class_conditional: true, loss: "gce".parse().unwrap(), lambda, ..FitConfig::default() };
        match cmrm_fit::arms(&config).pop().unwrap().term {
            Term::Binary { config, .. } => config.lambda_plus,
            term => panic!("{term:?}"),
        }
    };
    assert_eq!([weight(None), weight(Some(0.0)), weight(Some(0.5))], [1.0, 0.0, 0.5]);
}

#[test]
fn whoever_sets_what_only_a_network_has_means_a_network_and_a_vote_has_none_of_it() {
    let vote = of(ModelKind::Auto);
    assert_eq!((FitConfig::default().model(), vote.is_vote()), (ModelKind::Auto, true));
    vote.check().unwrap();
    // Each of them alone, as a file has it.
    for text in [
        "lambda = 1.0",
        "alpha = 0.5",
        "temperature = 0.2",
        "start = 0.5",
        "filter = \"hard\"",
        "scope = \"class\"",
        "ceiling = 0.0",
        "scale = \"fixed\"",
        "filter-base = true",
        "running = 0.9",
        "limit = 0.5",
        "fade = { margin = -0.3, share = 0.1 }",
        "preset = \"paper\"",
        "class-conditional = true",
        "hidden = [8]",
        "dropout = 0.1",
        "optimiser = \"adam\"",
        "learning-rate = 0.01",
        "epochs = 3",
        "steps = 30",
        "tolerance = 0.1",
        "batch = 8",
        "l2 = 0.1",
        "weight-decay = 0.1",
        "clip-norm = 1.0",
        "keep = \"last\"",
        "patience = 3",
        "loss = { name = \"gce\", q = 0.5 }",
        "schedule = { kind = \"constant\" }",
    ] {
        let config = FitConfig::from_toml(text).unwrap();
        assert_eq!(config.model(), ModelKind::Mlp, "{text}");
        assert_eq!(config.validation_share(), 0.1, "{text}");
        let refused = FitConfig { model: vote.model, ..config }.check().unwrap_err().to_string();
        let name = text.split(' ').next().unwrap();
        assert!(refused.starts_with(&format!("{name} is a setting of a network")), "{refused}");
        assert!(refused.contains("the model auto") && refused.contains("set the model to mlp"), "{refused}");
    }
    // What a vote has too.
    let more = "balance-classes = true\nseed = 3\nbase = false\nvalidation-share = 0.2\nbudget = 9.5";
    let more = FitConfig { model: vote.model, ..FitConfig::from_toml(more).unwrap() };
    more.check().unwrap();
    assert_eq!((more.validation_share(), vote.validation_share()), (0.2, 0.0));
}

#[test]
fn a_vote_is_written_down_as_one_and_rows_decide_nothing_of_it() {
    for model in [ModelKind::Auto, ModelKind::Forest, ModelKind::Boosting, ModelKind::Kernel] {
        let decided = of(model).for_rows(900, 100);
        assert_eq!(decided, of(model));
        let text = decided.to_toml().unwrap();
        assert!(text.contains(&format!("model = \"{}\"\n", model.name())), "{text}");
        let back = FitConfig::from_toml(&text).unwrap();
        back.check().unwrap();
        assert_eq!((back.model(), back.to_toml().unwrap()), (model, text));
    }
    let text = FitConfig { epochs: Some(3), ..FitConfig::default() }.for_rows(900, 100).to_toml().unwrap();
    assert!(text.contains("model = \"mlp\"\n") && text.contains("validation-share = 0.1\n"), "{text}");
}

#[test]
fn learners_are_those_of_the_model_auto() {
    let with = |text: &str| FitConfig::from_toml(text).unwrap();
    let named = with("learners = [\"network\", \"linear\"]");
    named.check().unwrap();
    assert_eq!((named.model(), named.learners.as_deref().map(<[_]>::len)), (ModelKind::Auto, Some(2)));
    assert_eq!(with(&named.to_toml().unwrap()).learners, named.learners);
    for (text, words) in [
        ("learners = []", "learners names none; leave it out, or name some of linear, forest"),
        ("model = \"forest\"\nlearners = [\"linear\"]", "learners = linear says who votes in the model auto"),
        ("epochs = 3\nlearners = [\"linear\"]", "the model is mlp; leave learners out"),
    ] {
        let refused = with(text).check().unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let refused = FitConfig::from_toml("learners = [\"tree\"]").unwrap_err().to_string();
    assert!(refused.contains("`tree`"), "{refused}");
}

#[test]
fn a_budget_is_a_votes_and_one_model_is_not_a_vote() {
    let with = |model, budget| FitConfig { model, budget: Some(budget), ..FitConfig::default() }.check();
    with(Some(ModelKind::Forest), 0.5).unwrap();
    for (model, budget, words) in [
        (Some(ModelKind::Auto), 0.0, "budget = 0 is out of range"),
        (Some(ModelKind::Auto), f64::NAN, "budget = NaN is out of range"),
        (Some(ModelKind::Linear), 9.0, "budget = 9 limits the time of a vote"),
    ] {
        let refused = with(model, budget).unwrap_err().to_string();
        assert!(refused.starts_with(words), "{refused}");
    }
    assert_eq!(FitConfig::default().for_one_model("a search").unwrap(), of(ModelKind::Mlp));
    assert_eq!(of(ModelKind::Svm).for_one_model("a search").unwrap(), of(ModelKind::Svm));
    let refused = of(ModelKind::Kernel).for_one_model("a search").unwrap_err().to_string();
    assert!(refused.starts_with("a search needs a single network") && refused.contains("kernel"), "{refused}");
}
