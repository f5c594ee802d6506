package wire

// Accounted is implemented by sessions that count what their clients make the server keep. Bytes are charged before
// they are kept, and
// given back when they are gone; what Take refuses ends the message, or the statement, with its error.
type Accounted interface {
	// Take charges bytes. kind says for what: message, portal or answer.
	Take(kind string, bytes int64) error
	// Give takes bytes off the account that Take put there.
	Give(kind string, bytes int64)
}

// The kinds of what a connection keeps.
const (
	kindMessage = "message" // one that is being read, or was read last
	kindPortal  = "portal"  // decoded arguments
	kindAnswer  = "answer"  // rows and messages that the client has not taken yet
)

// unaccounted is the account of a connection that is no session yet, and of sessions that do not count.
type unaccounted struct{}

func (unaccounted) Take(string, int64) error { return nil }
func (unaccounted) Give(string, int64)       {}

// charge is a part of the account that grows and shrinks as one.
type charge struct {
	account Accounted
	kind    string
	bytes   int64
}

// grow makes the charge so many bytes at least.
func (c *charge) grow(bytes int64) error {
	if bytes <= c.bytes {
		return nil
	}
	if err := c.account.Take(c.kind, bytes-c.bytes); err != nil {
		return err
	}
	c.bytes = bytes
	return nil
}

// shrink makes the charge so many bytes at most.
func (c *charge) shrink(bytes int64) {
	if bytes < c.bytes {
		c.account.Give(c.kind, c.bytes-bytes)
		c.bytes = bytes
	}
}
