//! Names, values and encodings of secrets, and what is left of a text.

use std::borrow::Cow;

use super::*;

fn of(pairs: &[(&str, &str)]) -> Secrets {
    let pairs = pairs.iter();
    of_environment(pairs.map(|(name, value)| (name.into(), value.into())))
}

const SECRET: &str = "tok_5ecr3t/abc+DEF";

type Encode = Box<dyn Fn(&str) -> String>;

/// The encodings, by name.
fn encodings() -> Vec<(&'static str, Encode)> {
    fn each(one: impl Fn(u8) -> String + 'static) -> Box<dyn Fn(&str) -> String> {
        Box::new(move |text| text.bytes().map(&one).collect())
    }
    fn base64(before: usize, is_for_urls: bool) -> Box<dyn Fn(&str) -> String> {
        Box::new(move |text| {
            let text = format!("{}{text}~", &"xyz"[..before]);
            in_base64(text.as_bytes(), is_for_urls)
        })
    }
    vec![
        ("json", Box::new(json_escaped)),
        ("json with slashes", Box::new(|text| json_escaped(text).replace('/', "\\/"))),
        ("url", Box::new(|text| text.chars().map(in_url).collect())),
        ("url, all", each(|byte| format!("%{byte:02x}"))),
        ("octal", each(|byte| format!("\\{byte:03o}"))),
        ("short octal", each(|byte| format!("\\{byte:o}"))),
        ("x", each(|byte| format!("\\x{byte:02x}"))),
        ("u", each(|byte| format!("\\u{byte:04X}"))),
        ("braces", each(|byte| format!("\\u{{{byte:x}}}"))),
        ("U", each(|byte| format!("\\U{byte:08x}"))),
        ("decimal entities", each(|byte| format!("&#{byte};"))),
        ("hex entities", each(|byte| format!("&#x{byte:X};"))),
        ("html", Box::new(|text| text.replace('&', "&amp;").replace('"', "&quot;"))),
        ("base64 0", base64(0, false)),
        ("base64 1", base64(1, false)),
        ("base64 2", base64(2, false)),
        ("base64url 0", base64(0, true)),
        ("base64url 1", base64(1, true)),
        ("base64url 2", base64(2, true)),
    ]
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn in_url(c: char) -> String {
    if c.is_ascii_alphanumeric() { c.to_string() } else { format!("%{:02X}", u32::from(c)) }
}

fn in_base64(bytes: &[u8], is_for_urls: bool) -> String {
    let last = if is_for_urls { "-_" } else { "+/" };
    let all: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last.chars()).collect();
    let group = |three: &[u8]| {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        (0..=three.len()).map(|at| all[bits >> (18 - 6 * at) & 63]).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[test]
fn a_secret_is_found_in_every_encoding_and_in_every_pair_of_them() {
    for secret in [SECRET, "abcd1234", "p\"w\\d/&<>%41z", "two words 99"] {
        let secrets = of(&[("DEPLOY_TOKEN", secret)]);
        let found = |text: &str| secrets.in_text(text.as_bytes()) == Some("DEPLOY_TOKEN");
        for (outer, encode) in encodings() {
            assert!(found(&encode(secret)), "{secret} {outer}: {}", encode(secret));
            for (inner, first) in encodings() {
                let twice = encode(&first(secret));
                assert!(found(&twice), "{secret} {inner} in {outer}: {twice}");
                let shown = secrets.hide(&twice);
                assert!(shown.contains("[DEPLOY_TOKEN]"), "{shown}");
                assert_eq!(secrets.in_text(shown.as_bytes()), None);
            }
        }
    }
}

#[test]
fn a_secret_is_found_however_deep_it_is_encoded() {
    let secrets = of(&[("DEPLOY_TOKEN", SECRET)]);
    let (all, mut seed) = (encodings(), 88_172_645_463_325_252_u64);
    for _ in 0..300 {
        let (mut text, mut names) = (SECRET.to_owned(), Vec::new());
        while names.len() < 6 && text.len() < 20_000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let (name, encode) = &all[usize::try_from(seed % all.len() as u64).unwrap()];
            (text, _) = (encode(&text), names.push(*name));
        }
        let found = secrets.in_text(text.as_bytes());
        assert_eq!(found, Some("DEPLOY_TOKEN"), "{names:?}");
    }
    let deep = format!("%{}74ok_5ecr3t/abc+DEF", "25".repeat(100_000));
    assert!(secrets.in_text(deep.as_bytes()).is_some());
}

#[test]
fn a_long_secret_is_found_in_base64_of_several_lines() {
    let long: String = (0..40).map(|n| format!("k{n}.")).collect();
    let secrets = of(&[("LONG_TOKEN", &long)]);
    let encoded = in_base64(format!("echo {long}\n").as_bytes(), false);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
    assert!(lines.len() > 2);
    let text = lines.join("\n");
    assert!(!secrets.hide(&text).contains(lines[1]));
}

#[test]
fn as_little_as_possible_is_replaced() {
    let secrets = of(&[("A_TOKEN", SECRET), ("B_SECRET", "tok_5ecr3t")]);
    for (text, shown) in [
        ("401 for tok_5ecr3t/abc+DEF!\n", "401 for [A_TOKEN]!\n"),
        ("401 for tok_5ecr3t!", "401 for [B_SECRET]!"),
        ("a tok\\x5f5ecr3t b\nc", "a [B_SECRET] b\nc"),
        ("a tok_5ecr\nb", "a tok_5ecr\nb"),
        ("ok tok&#95;5ecr3t\r\nnext", "ok [B_SECRET]\r\nnext"),
        ("ok tok_\x1b[01;31m5ecr3t\x1b[m next", "ok [B_SECRET] next"),
    ] {
        assert_eq!(secrets.hide(text), shown);
    }
    let spaced = of(&[("A_TOKEN", "two words 99")]);
    let text = "a\nsaid two\\x20words 99 here\nb";
    assert_eq!(spaced.hide(text), "a\n[A_TOKEN]\nb");
}

#[test]
fn a_text_without_secrets_stays_as_it_is() {
    let secrets = of(&[("A_TOKEN", SECRET)]);
    for text in
        ["", "/home/me/some/long/path/to/a/file", "%2525 \\\\ & %", "\\", "caf\u{e9} \\u00", "&#x;"]
    {
        assert!(matches!(secrets.hide(text), Cow::Borrowed(_)), "{text}");
    }
    let random: Vec<u8> =
        (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let text = in_base64(&random, false);
    assert!(matches!(secrets.hide(&text), Cow::Borrowed(_)));
}

#[test]
fn names_and_values_decide_what_is_a_secret() {
    let here = std::env::current_dir().unwrap().display().to_string();
    for (name, value) in [
        ("GITHUB_TOKEN", "ghp_0123456789"),
        ("PGPASSWORD", "correcthorse"),
        ("db_password", "a b c d e f"),
        ("API_KEYS", "k1k2k3k4k5"),
        ("SLACK_TOKEN2", "xoxb-12345"),
        ("VAULT_SECRET_ID", "3f2a-44b1-9"),
    ] {
        assert!(!of(&[(name, value)]).is_empty(), "{name}");
    }
    for (name, value) in [
        ("TOKEN", "none"),
        ("TOKEN", "1234567"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-a/agent.1"),
        ("XAUTHORITY", "/root/.Xauthority"),
        ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
        ("KEYBOARD", "querty-us-intl"),
        ("TOKENIZERS_PARALLELISM", "something"),
        ("MAX_TOKENS", "1000000000"),
        ("POSTGRES_PASSWORD", "postgres"),
        ("TOKEN_TYPE", "application"),
        ("VAULT_AUTH_PATH", "kubernetes"),
        ("SECRET_MANAGER_REGION", "us-central1"),
        ("AUTH_PROVIDER", "keycloak"),
        ("PASSWORD_HASHER", "argon2id"),
        ("DB_PASSWORD", "localhost"),
        ("AUTH", "https://login.example.com/token"),
        ("CREDENTIALS", &here),
        ("PWD", "not-a-secret-at-all"),
        ("CI", "true"),
    ] {
        assert!(of(&[(name, value)]).is_empty(), "{name}");
    }
    assert_eq!(secret_part("postgres://me:hunter2hunter@db/x"), Some("hunter2hunter"));
    let pem = of(&[("PRIVATE_KEY", "-----BEGIN KEY-----\nMIIabc123\n-----END KEY-----")]);
    assert_eq!(
        pem.hide("-----BEGIN KEY-----\nMIIabc123\n"),
        "-----BEGIN KEY-----\n[PRIVATE_KEY]\n"
    );
}

#[test]
fn a_variable_that_an_agent_names_is_a_secret_if_its_value_looks_like_one() {
    for value in ["d3adb33fcafe", "5ecr3t_abcdef0123456789", "sk-a1b2c3d4"] {
        assert!(looks_random(value), "{value}");
    }
    for value in [
        "en_US.UTF-8",
        "eu-central-1",
        "claude-sonnet-4-5-20250929",
        "production",
        "/usr/lib/x1y2z3",
        "x86_64-unknown-linux-gnu",
        "a1:b2:c3:d4",
    ] {
        assert!(!looks_random(value), "{value}");
    }
}
