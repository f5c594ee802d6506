//go:build invariants

package invariants

// Enabled is true in test builds: `make test` sets the tag.
const Enabled = true
