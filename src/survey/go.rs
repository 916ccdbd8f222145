//! Go: `go.mod`.

use super::{ProposalList, Rank, reader::Reader};

pub(super) fn propose(reader: &Reader, found: &mut ProposalList) {
    if reader.is_file("go.mod") {
        found.add(Rank::Test, "go test ./...", "go.mod");
        found.add(Rank::Build, "go build ./...", "go.mod");
        found.add(Rank::Lint, "go vet ./...", "go.mod");
    }
}
