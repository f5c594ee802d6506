package frontend

import "github.com/csmsql/csmsql/wire"

var _ wire.Accounted = (*session)(nil)

// Take charges bytes that are about to be kept for the client, or says why they may not be.
func (s *session) Take(kind string, bytes int64) error {
	if s.calls.waits() {
		return s.engine.TakeAside(kind, bytes)
	}
	return s.engine.Take(kind, bytes)
}

// Give takes bytes off the account that were taken.
func (s *session) Give(kind string, bytes int64) { s.engine.Give(kind, bytes) }
