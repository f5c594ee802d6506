package frontend

import (
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

var _ wire.Accounted = (*session)(nil)

// Take charges bytes that are about to be kept for the client, or says why they may not be.
func (s *session) Take(kind string, bytes int64) error {
	if s.calls.waits() {
		return s.engine.TakeAside(kind, bytes)
	}
	return s.engine.Take(kind, bytes)
}

// bytesOf is what arguments take, beside their number.
func bytesOf(args []wire.Value) (bytes int64) {
	for _, arg := range args {
		bytes += bytesOfValue(arg.Data)
	}
	return bytes
}

func bytesOfValue(value any) (bytes int64) {
	const element = 32 // of an array, beside its own bytes
	switch value := value.(type) {
	case string:
		return int64(len(value))
	case []byte:
		return int64(len(value))
	case *pgformat.Array:
		for _, e := range value.Elements {
			bytes += element + bytesOfValue(e)
		}
	}
	return bytes
}

// Give takes bytes off the account that were taken.
func (s *session) Give(kind string, bytes int64) { s.engine.Give(kind, bytes) }
