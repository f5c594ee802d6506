package descriptor

import (
	"errors"

	"github.com/csmsql/csmsql/coherence"
)

// Faults found while decoding or rebuilding. All of them are XX001 (data_corrupted) for SQL.
var (
	// ErrCorrupt marks bytes that are not a valid descriptor: every fault of Decode wraps it.
	ErrCorrupt = &corruption{text: "corrupt chunk descriptor"}
	// ErrFormat marks a descriptor of another format number: a newer program wrote it.
	ErrFormat = &corruption{text: "unknown descriptor format"}
	// ErrData marks a chunk whose bytes contradict their type: every fault of ValidateData wraps it.
	ErrData = &corruption{text: "corrupt chunk data"}
	// ErrChecksum marks a buffer whose bytes are not those that were sealed. It is a coherence.ErrChecksum, so that an
	// acquire tries again.
	ErrChecksum = &corruption{"checksum mismatch", coherence.ErrChecksum}
)

// Faults of Describe: the caller handed over what cannot be described.
var (
	// ErrOutside marks a buffer that does not lie in any of the given extents.
	ErrOutside = errors.New("buffer lies outside the chunk's extents")
	// ErrUnsupported marks an Arrow type that has no descriptor form.
	ErrUnsupported = errors.New("unsupported Arrow type")
)

type corruption struct {
	text string
	is   error
}

func (c *corruption) Error() string    { return c.text }
func (c *corruption) SQLState() string { return "XX001" }
func (c *corruption) Unwrap() error    { return c.is }
