package lineage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/csmsql/csmsql/internal/counted"
)

// Origin is where rows came from: exactly one of Files, Generated and Query is there.
type Origin struct {
	Files     []File     `json:"files,omitempty"`
	Generated *Generated `json:"generated,omitempty"`
	Query     *Query     `json:"query,omitempty"`
	// Columns are those by whose hash the rows were divided, Parts the numbers of chunks of each part. Without columns
	// there is one part.
	Columns []string `json:"columns,omitempty"`
	Parts   []int    `json:"parts,omitempty"`
	Rows    int64    `json:"rows"`
}

// File is one that was read, to its end.
type File struct {
	Path     string    `json:"path"` // absolute, at Node
	Node     string    `json:"node"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	// Call is the table function of DuckDB that read it; empty: it is an Arrow IPC file.
	Call string `json:"call,omitempty"`
	// Columns are the table's that the file's fill, in its order.
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
	// SQL: it was read for SQL, which does not reach every file.
	SQL bool `json:"sql,omitempty"`
}

// Generated is a table of TPC-H.
type Generated struct {
	Table       string  `json:"table"`
	ScaleFactor float64 `json:"scale_factor"`
	// Step is how many units each chunk has, the last one what is left; 0: the rows were divided by a hash.
	Step int64 `json:"step,omitempty"`
}

// Query is a statement's.
type Query struct {
	Text string `json:"text"`
	// SearchPath and TimeZone are those of the session that ran it.
	SearchPath []string `json:"search_path,omitempty"`
	TimeZone   string   `json:"time_zone,omitempty"`
	// Settings are its other settings that say what its text means, except the defaults.
	Settings map[string]string `json:"settings,omitempty"`
	// Tables are what it read.
	Tables []Table `json:"tables,omitempty"`
	// Sum is the sum of the rows' hashes, whatever order they came in.
	Sum uint64 `json:"sum"`
}

// Table is a version of one.
type Table struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Version uint64 `json:"version"`
}

// Encode writes an origin for the catalog; nil: nothing is known.
func (o *Origin) Encode() string {
	if o == nil {
		return ""
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "" // a scale factor that is no number made no rows
	}
	return string(text)
}

// Decode reads what Encode wrote.
func Decode(words string) (*Origin, error) {
	o := &Origin{}
	d := json.NewDecoder(strings.NewReader(words))
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return nil, fmt.Errorf("where rows came from cannot be read: %w", err)
	}
	kinds := 0
	for _, is := range []bool{len(o.Files) > 0, o.Generated != nil, o.Query != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 || len(o.Columns) == 0 && len(o.Parts) > 0 || len(o.Columns) > 0 && len(o.Parts) == 0 {
		return nil, fmt.Errorf("where rows came from makes no sense: %.200s", words)
	}
	return o, nil
}

// String is an origin for people.
func (o *Origin) String() string {
	const most = 3
	switch {
	case o.Generated != nil:
		return fmt.Sprintf("TPC-H %s at scale factor %g", o.Generated.Table, o.Generated.ScaleFactor)
	case o.Query != nil:
		text := strings.Join(strings.Fields(o.Query.Text), " ")
		if runes := []rune(text); len(runes) > 200 {
			text = string(runes[:200]) + "…"
		}
		return "query: " + text
	}
	var b bytes.Buffer
	for i, f := range o.Files {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(o.Files)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Path)
	}
	return b.String()
}

// Look takes notice of a file before it is read; the path becomes absolute.
func Look(node, path string) (File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return File{}, err
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is no regular file", absolute)
	}
	return File{Path: absolute, Node: node, Bytes: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// ChangedError is a source that is not what it was.
type ChangedError struct {
	Path string
	What string
}

func (e *ChangedError) Error() string { return fmt.Sprintf("%s was changed: %s", e.Path, e.What) }

// Unchanged looks whether the file is there and as long as it was (LG3).
func (f *File) Unchanged() error {
	now, err := Look(f.Node, f.Path)
	if err != nil {
		return err
	}
	if now.Bytes != f.Bytes {
		return &ChangedError{f.Path, fmt.Sprintf("it has %s and had %d", counted.Of(now.Bytes, "byte"), f.Bytes)}
	}
	return nil
}

// Touched reports whether the file was written since, for all one can see.
func (f *File) Touched() bool {
	now, err := Look(f.Node, f.Path)
	return err != nil || now.Bytes != f.Bytes || !now.Modified.Equal(f.Modified)
}
