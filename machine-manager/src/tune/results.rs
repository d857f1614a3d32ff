//! The results of `bcs tune`, for the table, the picture, the verdict and other programs
//! (`--json`).

use super::race::{Race, RaceResult, Standing};
use super::setting::Setting;
use super::statistics::median;
use serde::Serialize;

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrialFailure {
    /// The exit code of `bcs run`.
    pub exit_code: u8,
    /// Its last words.
    pub last_words: String,
}

/// A setting, and its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingResult {
    /// The setting; `None` for the reference.
    pub setting: Option<Setting>,
    /// `best`, `as-good`, `slower`, `failed` or `reference`.
    #[serde(serialize_with = "as_word")]
    pub standing: Standing,
    /// The run times, from command to prompt, in the order of the runs.
    pub seconds: Vec<f64>,
    /// Runs that failed.
    pub failures: Vec<TrialFailure>,
}

impl SettingResult {
    /// Returns the median of its run times.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        (!self.seconds.is_empty()).then(|| median(&self.seconds))
    }

    /// Returns the shortest and the longest run.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        let least = self.seconds.iter().copied().reduce(f64::min)?;
        let most = self.seconds.iter().copied().reduce(f64::max)?;
        Some((least, most))
    }
}

fn as_word<S: serde::Serializer>(standing: &Standing, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word(*standing))
}

/// Returns a standing as a word.
#[must_use]
pub fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "best",
        Standing::AsGood => "as-good",
        Standing::Slower => "slower",
        Standing::Failed => "failed",
        Standing::Reference => "reference",
    }
}

/// All results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// The program with its arguments.
    pub program: Vec<String>,
    /// The setting of a `bcs run` without `bcs tune`.
    pub in_effect: Setting,
    /// The options of the reference, if there is one.
    pub against: Option<String>,
    /// The settings that were tried, followed by the reference.
    pub rows: Vec<SettingResult>,
    /// The row of the fastest setting.
    pub best: Option<usize>,
    /// Whether settings differ by more than noise makes.
    pub differ: bool,
    /// The standard deviation of a run time, as a share of it.
    pub noise: Option<f64>,
    /// How often the program was run, recorded runs included.
    pub runs: usize,
    /// Whether all runs were done; otherwise a signal came.
    pub is_whole: bool,
    /// The findings of recorded runs: with the setting in effect, and with the choice.
    pub reasons: Vec<String>,
}

impl Results {
    /// Takes the results of a race so far.
    pub fn take(&mut self, race: &Race) {
        let RaceResult {
            standings,
            best,
            differ,
            noise,
        } = race.finding();
        for (number, (row, standing)) in self.rows.iter_mut().zip(standings).enumerate() {
            row.standing = standing;
            row.seconds = race.seconds(number).to_vec();
        }
        (self.best, self.differ, self.noise) = (best, differ, noise);
    }

    /// Returns the fastest row, and its setting.
    #[must_use]
    pub fn best(&self) -> Option<(&SettingResult, Setting)> {
        let row = &self.rows[self.best?];
        Some((row, row.setting?))
    }

    /// Returns the recommended setting if there is a difference. It is the one in effect, unless
    /// the fastest is better by more than noise makes and has never failed.
    #[must_use]
    pub fn choice(&self) -> Option<Setting> {
        let (row, setting) = self.best().filter(|_| self.differ)?;
        if self.stays() {
            return Some(self.in_effect);
        }
        row.failures.is_empty().then_some(setting)
    }

    /// Returns the row of the setting in effect.
    #[must_use]
    pub fn now(&self) -> Option<&SettingResult> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.setting == Some(self.in_effect))
    }

    /// Returns whether the setting in effect has run, and none is certainly better.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.now().is_some_and(|now| {
            let is_good = matches!(now.standing, Standing::Best | Standing::AsGood);
            is_good && now.failures.is_empty() && !now.seconds.is_empty()
        })
    }

    /// Returns the row of the reference.
    #[must_use]
    pub fn reference(&self) -> Option<&SettingResult> {
        self.rows.iter().find(|row| row.setting.is_none())
    }

    /// Returns which of the three options differ between rows.
    #[must_use]
    pub fn varied(&self) -> Vec<&'static str> {
        let all: Vec<_> = self.rows.iter().filter_map(|row| row.setting).collect();
        let names = self.in_effect.options().map(|(name, _)| name);
        let values = |setting: &Setting, at: usize| setting.options()[at].1.clone();
        let differ = |at: &usize| {
            all.iter()
                .any(|setting| values(setting, *at) != values(&all[0], *at))
        };
        let varied: Vec<_> = (0..names.len())
            .filter(differ)
            .map(|at| names[at])
            .collect();
        varied
    }

    /// Formats a setting as options: those that vary, or all if none does.
    #[must_use]
    pub fn options(&self, setting: &Setting) -> Vec<(&'static str, String)> {
        let varied = self.varied();
        let wanted = |name: &&'static str| varied.is_empty() || varied.contains(name);
        let options = setting.options().into_iter();
        options.filter(|(name, _)| wanted(name)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bcs_core::job::StrobeMode;

    /// Returns three slices with fixed strobes and one of them with elastic ones, and a reference.
    pub(in super::super) fn sample() -> Results {
        let setting = |strobe, time_slice_ns| {
            Some(Setting {
                strobe,
                time_slice_ns,
                eager_limit: 4096,
            })
        };
        let row = |setting, standing, seconds: &[f64]| SettingResult {
            setting,
            standing,
            seconds: seconds.to_vec(),
            failures: Vec::new(),
        };
        let fixed = |us: u64| setting(StrobeMode::Fixed, us * 1000);
        let mut rows = vec![
            row(fixed(50), Standing::Best, &[1.0, 1.02, 1.01]),
            row(fixed(500), Standing::Slower, &[1.2, 1.25, 1.5]),
            row(fixed(5000), Standing::Failed, &[4.0]),
            row(
                setting(StrobeMode::Elastic, 500_000),
                Standing::AsGood,
                &[1.03, 1.0, 1.02],
            ),
            row(None, Standing::Reference, &[0.9, 0.91, 0.92]),
        ];
        rows[2].failures.push(TrialFailure {
            exit_code: 124,
            last_words: "bcs: the time of --timeout was over\n".into(),
        });
        Results {
            program: vec!["sweep3d".into()],
            in_effect: fixed(500).unwrap(),
            against: Some("--nodes 1".into()),
            rows,
            best: Some(0),
            differ: true,
            noise: Some(0.0123),
            runs: 15,
            is_whole: true,
            reasons: vec!["Ranks compute for 3 ms.".into()],
        }
    }

    #[test]
    fn only_what_is_varied_is_named() {
        let results = sample();
        assert_eq!(results.varied(), ["strobe", "time-slice"]);
        let options = results.options(&results.choice().unwrap());
        let expected = [
            ("strobe", "fixed".to_owned()),
            ("time-slice", "50us".to_owned()),
        ];
        assert_eq!(options, expected);
        let flat = Results {
            differ: false,
            ..results
        };
        assert_eq!(flat.choice(), None);
    }

    #[test]
    fn other_programs_find_everything() {
        let json = serde_json::to_value(sample()).unwrap();
        assert_eq!(json["rows"][0]["setting"]["strobe"], "fixed");
        assert_eq!(json["rows"][0]["setting"]["time_slice_ns"], 50_000);
        assert_eq!(json["rows"][1]["seconds"][2], 1.5);
        assert_eq!(json["rows"][2]["failures"][0]["exit_code"], 124);
        assert_eq!(json["rows"][3]["standing"], "as-good");
        assert!(json["rows"][4]["setting"].is_null());
        assert_eq!((&json["best"], &json["differ"]), (&0.into(), &true.into()));
    }
}
