//! Consults: mended twice, kept, counted once.

use std::time::Duration;

use descent_core::{id::AgentName, state::Micros};

use super::*;
use crate::{
    model::tests::{good, provider, serve},
    process::programs,
};

fn model(base: &str) -> AskedModel {
    AskedModel {
        provider: provider(base),
        name: AgentName::from("judge"),
        limits: AgentLimits {
            first_event: Duration::from_secs(5),
            idle: Duration::from_secs(5),
            after_result: Duration::ZERO,
        },
        price: Some(Price {
            input: Micros(1_000_000),
            ..Price::default()
        }),
        asker: Asker::without_memory(),
        slot: 0,
    }
}

async fn consult(
    model: &AskedModel,
    dir: &Path,
    fault: &(dyn Fn(&str) -> Option<String> + Sync),
) -> ConsultAnswer {
    let request = ConsultRequest {
        model,
        programs: &*programs::real(),
        cwd: dir,
        system: "",
        prompt: "is it good?",
        schema: None,
        fault,
        mends_max: 2,
        tries_max: 1,
        dir,
        bound: "judge/1",
    };
    answer(&request).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_use_is_asked_for_twice_more_and_told_with_its_fault() {
    let (server, dir) = (serve(vec![good()]), tempfile::tempdir().unwrap());
    let model = model(&server.base);
    let said = consult(&model, dir.path(), &|_| {
        Some("it has no verdict".to_owned())
    })
    .await;
    assert_eq!(said.fault.as_deref(), Some("it has no verdict"));
    assert_eq!((server.posts(), said.usage.calls), (3, 3));
    // The scripted server tells nine tokens in at each call.
    assert_eq!(said.usage.tokens.input, 27);
    assert_eq!(said.usage.cost, Some(Micros(27)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_kept_is_not_asked_for_again_and_is_counted() {
    let (server, dir) = (serve(vec![good()]), tempfile::tempdir().unwrap());
    let model = model(&server.base);
    for _ in 0..2 {
        let said = consult(&model, dir.path(), &|_| None).await;
        assert_eq!((said.text.as_str(), said.fault), ("{}", None));
        assert_eq!((server.posts(), said.usage.calls), (1, 1));
        assert_eq!(said.usage.tokens.input, 9);
    }
}
