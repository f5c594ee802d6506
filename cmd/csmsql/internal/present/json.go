package present

import (
	"bufio"
	"encoding/json"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// jsonSink writes objects: as an array, or one per line.
type jsonSink struct {
	out     *bufio.Writer
	array   bool
	columns []conversation.Column // nil: the statement returns no rows
	keys    [][]byte
	rows    int64
}

// Begin implements conversation.Sink.
func (j *jsonSink) Begin(columns []conversation.Column) error {
	j.columns, j.keys, j.rows = columns, make([][]byte, len(columns)), 0
	for i, c := range columns {
		key, err := json.Marshal(c.Name)
		if err != nil {
			return err
		}
		j.keys[i] = append(key, ':')
	}
	if j.array {
		return j.out.WriteByte('[')
	}
	return nil
}

// Row implements conversation.Sink.
func (j *jsonSink) Row(values [][]byte) error {
	if j.array && j.rows > 0 {
		j.out.WriteByte(',')
	}
	if j.array {
		j.out.WriteByte('\n')
	}
	j.rows++
	j.out.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			j.out.WriteByte(',')
		}
		j.out.Write(j.keys[i])
		text, err := jsonValue(j.columns[i].OID, v)
		if err != nil {
			return err
		}
		j.out.Write(text)
	}
	err := j.out.WriteByte('}')
	if !j.array {
		err = j.out.WriteByte('\n')
	}
	return err
}

// jsonValue writes a value in JSON's nearest type. NaN and the infinities, which JSON has not, become strings.
func jsonValue(oid uint32, v []byte) ([]byte, error) {
	switch {
	case v == nil:
		return []byte("null"), nil
	case oid == pgformat.Bool:
		if string(v) == "t" {
			return []byte("true"), nil
		}
		return []byte("false"), nil
	case (isNumber(oid) || oid == pgformat.JSON || oid == pgformat.JSONB) && json.Valid(v):
		return v, nil
	}
	return json.Marshal(string(v))
}

// End implements conversation.Sink.
func (j *jsonSink) End(string) error {
	if j.columns == nil || !j.array {
		return nil
	}
	if j.rows > 0 {
		j.out.WriteByte('\n')
	}
	j.columns = nil
	_, err := j.out.WriteString("]\n")
	return err
}
