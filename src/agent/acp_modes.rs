//! The modes that a session of an ACP agent offers.
//!
//! Facts: some agents list their modes; others have a configuration option of the category `mode`.

use agent_client_protocol::v1::schema::{
    SessionConfigId, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionConfigSelectOptions, SessionConfigValueId, SessionModeState,
};

pub(super) struct OfferedModes {
    modes: Option<SessionModeState>,
    options: Vec<SessionConfigOption>,
}

impl OfferedModes {
    pub(super) fn new(
        modes: Option<SessionModeState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> Self {
        let options = options.unwrap_or_default();
        Self { modes, options }
    }

    pub(super) fn has_mode(&self, wanted: &str) -> bool {
        let listed = self.modes.iter().flat_map(|modes| &modes.available_modes);
        listed.into_iter().any(|mode| mode.id.to_string() == wanted)
    }

    /// The option that sets this mode, and its value.
    pub(super) fn option_for(
        &self,
        wanted: &str,
    ) -> Option<(SessionConfigId, SessionConfigValueId)> {
        let of_modes = |option: &&SessionConfigOption| {
            matches!(option.category, Some(SessionConfigOptionCategory::Mode))
        };
        self.options.iter().filter(of_modes).find_map(|option| {
            let value = values(option).find(|value| value.value.to_string() == wanted)?;
            Some((option.id.clone(), value.value.clone()))
        })
    }
}

fn values(option: &SessionConfigOption) -> impl Iterator<Item = &SessionConfigSelectOption> {
    let (plain, groups) = match &option.kind {
        SessionConfigKind::Select(select) => match &select.options {
            SessionConfigSelectOptions::Ungrouped(plain) => (plain.as_slice(), [].as_slice()),
            SessionConfigSelectOptions::Grouped(groups) => ([].as_slice(), groups.as_slice()),
            _ => Default::default(),
        },
        _ => Default::default(),
    };
    plain.iter().chain(groups.iter().flat_map(|group| &group.options))
}
