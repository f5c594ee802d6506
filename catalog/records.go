package catalog

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/record"
)

func hexadecimal(v uint64) string { return fmt.Sprintf("%016x", v) }

// Field numbers of catalog.proto.
const (
	formatNumber, formatIdentity, formatCreated = 1, 2, 3
	counterNext                                 = 1
	nameKind, nameID                            = 1, 2
)

// The kinds in a name record.
const (
	kindTable = 1
	kindView  = 2
	kindType  = 3
)

func encodeName(kind uint64, id TableID) []byte {
	w := message.Writer{}
	w.Uint(nameKind, kind)
	w.Uint(nameID, uint64(id))
	return w.Buf
}

func encodeCounter(next uint64) []byte {
	w := message.Writer{}
	w.Uint(counterNext, next)
	return w.Buf
}

func decodeCounter(data []byte) (next uint64, err error) {
	r := message.NewReader(data)
	for r.Next() {
		if r.Field() == counterNext {
			next = r.Uint()
		} else {
			r.Skip()
		}
	}
	return next, damaged("counter", r.Err())
}

func encodeFormat(identity string, created time.Time) []byte {
	w := message.Writer{}
	w.Uint(formatNumber, catalogFormat)
	w.String(formatIdentity, identity)
	w.Int(formatCreated, created.UnixMicro())
	return w.Buf
}

func checkFormat(data []byte) (identity string, err error) {
	r := message.NewReader(data)
	var format uint64
	for r.Next() {
		switch r.Field() {
		case formatNumber:
			format = r.Uint()
		case formatIdentity:
			identity = r.String()
		default:
			r.Skip()
		}
	}
	if err := damaged("format", r.Err()); err != nil {
		return "", err
	}
	if format != catalogFormat {
		return "", fmt.Errorf("%w: format %d, this program knows %d: use the program that wrote it", ErrFormat, format, catalogFormat)
	}
	return identity, nil
}

func damaged(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%s): %w", ErrCorrupt, what, err)
}

func decodeRegion(data []byte) (*RegionRecord, error) {
	g, err := record.DecodeRegion(data)
	return g, damaged("region", err)
}

func decodeNode(data []byte) (*NodeRecord, error) {
	n, err := record.DecodeNode(data)
	return n, damaged("node", err)
}

func decodeView(data []byte) (*View, error) {
	v, err := record.DecodeView(data)
	return v, damaged("view", err)
}
