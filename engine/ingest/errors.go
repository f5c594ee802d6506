package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// quotedMax bounds how much of a bad value an error shows.
const quotedMax = 64

func errNotText(v []byte) error {
	if len(v) > quotedMax {
		return sqlerror.New("22021", "invalid byte sequence for encoding \"UTF8\" in %q… (%d bytes)", v[:quotedMax], len(v))
	}
	return sqlerror.New("22021", "invalid byte sequence for encoding \"UTF8\" in %q", v)
}

func errType(have, want arrow.DataType) error {
	return sqlerror.New("42804", "values of type %s cannot be stored as %s", have, want)
}
