package catalog

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog/record"
)

var (
	decodePresence = decoder("presence", record.DecodePresence)
	decodeRegion   = decoder("region", record.DecodeRegion)
	decodeNode     = decoder("node", record.DecodeNode)
	decodeView     = decoder("view", record.DecodeView)
)

func decoder[T any](what string, decode func([]byte) (T, error)) func([]byte) (T, error) {
	return func(data []byte) (T, error) {
		decoded, err := decode(data)
		return decoded, damaged(what, err)
	}
}

func damaged(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%s): %w", ErrCorrupt, what, err)
}
