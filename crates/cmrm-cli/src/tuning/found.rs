//! What a search found, for people and for programs.

use std::fmt::Write;

use cmrm::criterion::Criterion;
use cmrm_fit::{Candidate, choose, settings};
use cmrm_run::summary::{Style, write_rows};
use cmrm_train::tune::{Choice, SearchConfig, Standing, Trial, standings};
use serde::{Deserialize, Serialize};

use crate::failure::Result;

/// Settings listed at the end of a search.
const SHOWN: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub schema: String,
    /// The folder of the search.
    pub search: String,
    pub data: String,
    /// Rows that were searched on; all labels as observed.
    pub rows: usize,
    pub settings: usize,
    pub trials: usize,
    pub folds: usize,
    pub criterion: Criterion,
    pub chosen: Choice,
    /// The choice of each criterion.
    pub by_criterion: Vec<(Criterion, Choice)>,
    /// Where the settings stand, those of the last fold first and then by the criterion.
    pub standings: Vec<Standing>,
    pub failed: usize,
    pub seed: u64,
    pub version: String,
}

impl Found {
    pub fn new(
        (search, data, rows): (String, String, usize),
        config: &SearchConfig,
        candidates: &[Candidate],
        trials: &[Trial],
    ) -> Result<Self> {
        let by = |criterion: Criterion| choose(candidates, trials, criterion).map(|(_, choice)| (criterion, choice));
        let (_, chosen) = by(config.criterion)?;
        let mut standings = standings(&settings(candidates), trials);
        let score = |s: &Standing| s.verdict.and_then(|verdict| verdict.by(config.criterion)).unwrap_or(f64::MIN);
        standings.sort_by(|a, b| b.folds.cmp(&a.folds).then(score(b).total_cmp(&score(a))));
        Ok(Found {
            schema: "cmrm/tune/1".into(),
            search,
            data,
            rows,
            settings: candidates.len(),
            trials: trials.len(),
            folds: config.folds,
            criterion: config.criterion,
            chosen,
            by_criterion: Criterion::ALL.into_iter().filter_map(|criterion| by(criterion).ok()).collect(),
            standings,
            failed: trials.iter().filter(|trial| trial.failure.is_some()).count(),
            seed: config.seed,
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    /// The end of a search in a terminal.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Style::Text);
        out
    }

    /// The same as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# cmrm tune: {}\n\n", Style::Markdown.value(&self.data));
        self.write(&mut out, Style::Markdown);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\nSeed {}, cmrm {}. Every trial: trials.jsonl. Settings: best.toml.",
            self.seed, self.version
        );
        out
    }

    fn write(&self, out: &mut String, style: Style) {
        let failed = if self.failed > 0 { format!(", {} of them failed", self.failed) } else { String::new() };
        let _ = writeln!(
            out,
            "{} settings in {} trials{failed}, {} folds of {} rows; all scores use observed labels, which are partly wrong.\n",
            self.settings, self.trials, self.folds, self.rows
        );
        let head = |first: &str| {
            let names = Criterion::ALL.iter().map(|criterion| criterion.name().to_owned());
            [first.to_owned(), "folds".to_owned()].into_iter().chain(names).collect::<Vec<_>>()
        };
        let row = |first: &str, standing: &Standing| {
            let cell = |criterion: &Criterion| {
                let value = standing.verdict.and_then(|verdict| verdict.by(*criterion));
                value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"))
            };
            let cells = Criterion::ALL.iter().map(cell);
            [first.to_owned(), standing.folds.to_string()].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let rows: Vec<_> = self.standings.iter().take(SHOWN).map(|s| row(&style.value(&s.setting), s)).collect();
        write_rows(out, style, &head("setting"), &rows);
        let _ = writeln!(out, "\nChoice of each criterion:\n");
        let of = |choice: &Choice| self.standings.iter().find(|standing| standing.setting == choice.setting);
        let rows: Vec<_> = self
            .by_criterion
            .iter()
            .filter_map(|(criterion, choice)| {
                let mut cells = row(criterion.name(), of(choice)?);
                cells[1] = style.value(&choice.setting);
                Some(cells)
            })
            .collect();
        let mut names = head("criterion");
        names[1] = "setting".into();
        write_rows(out, style, &names, &rows);
        let _ = writeln!(
            out,
            "\nChosen by {}: {}.{}",
            self.criterion.name(),
            style.value(&self.chosen.setting),
            self.reason()
        );
    }

    /// Why the best on paper was not taken.
    fn reason(&self) -> String {
        match (&self.chosen.lead, self.chosen.best == self.chosen.setting) {
            (Some((lead, error)), false) => format!(
                "\n{} leads by {:.4}, which is within chance (standard error {:.4} over the folds), so the settings stay unchanged.",
                self.chosen.best, lead, error
            ),
            _ => String::new(),
        }
    }
}
