package present

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
)

// csvSink writes comma separated values.
type csvSink struct{ out *bufio.Writer }

// Begin implements conversation.Sink.
func (c *csvSink) Begin(columns []conversation.Column) error {
	names := make([][]byte, len(columns))
	for i, column := range columns {
		names[i] = []byte(column.Name)
	}
	return c.Row(names)
}

// Row implements conversation.Sink.
func (c *csvSink) Row(values [][]byte) error {
	for i, v := range values {
		if i > 0 {
			c.out.WriteByte(',')
		}
		// One field that is empty must not be an empty line; NULL and '' must differ.
		if v != nil && (len(v) == 0 || bytes.ContainsAny(v, ",\"\r\n") || v[0] == ' ' || v[len(v)-1] == ' ') {
			c.out.WriteByte('"')
			c.out.Write(bytes.ReplaceAll(v, []byte(`"`), []byte(`""`)))
			c.out.WriteByte('"')
			continue
		}
		c.out.Write(v)
	}
	return c.out.WriteByte('\n')
}

// End implements conversation.Sink.
func (c *csvSink) End(string) error { return nil }

// tsvSink writes what COPY … TO STDOUT does.
type tsvSink struct{ out *bufio.Writer }

var escapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// Begin implements conversation.Sink.
func (t *tsvSink) Begin(columns []conversation.Column) error {
	names := make([][]byte, len(columns))
	for i, column := range columns {
		names[i] = []byte(column.Name)
	}
	return t.Row(names)
}

// Row implements conversation.Sink.
func (t *tsvSink) Row(values [][]byte) error {
	for i, v := range values {
		if i > 0 {
			t.out.WriteByte('\t')
		}
		if v == nil {
			t.out.WriteString(`\N`)
			continue
		}
		t.out.WriteString(escapes.Replace(string(v)))
	}
	return t.out.WriteByte('\n')
}

// End implements conversation.Sink.
func (t *tsvSink) End(string) error { return nil }
