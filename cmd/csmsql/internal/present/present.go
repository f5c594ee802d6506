package present

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// Formats that New knows, the default first.
var Formats = []string{"table", "csv", "tsv", "json", "jsonl"}

// New makes a sink that writes results to out in a format. It may be used for one statement after the other. The caller
// flushes out.
func New(format string, out *bufio.Writer) (conversation.Sink, error) {
	switch format {
	case "table":
		return &aligned{out: out}, nil
	case "csv":
		return &csvSink{out: out}, nil
	case "tsv":
		return &tsvSink{out: out}, nil
	case "json":
		return &jsonSink{out: out, array: true}, nil
	case "jsonl":
		return &jsonSink{out: out}, nil
	}
	return nil, fmt.Errorf("--format %s: the formats are %s", format, strings.Join(Formats, ", "))
}

// isNumber reports whether a type's values are aligned to the right, and written bare in JSON if they are finite.
func isNumber(oid uint32) bool {
	switch oid {
	case pgformat.Int2, pgformat.Int4, pgformat.Int8, pgformat.Float4, pgformat.Float8, pgformat.NumericOID, pgformat.OID:
		return true
	}
	return false
}
