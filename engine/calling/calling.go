package calling

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/internal/mark"
)

// viewKey is of the metadata of a view's columns: how its query calls functions.
const viewKey = "csm.calls"

// Record is how a text that is kept calls functions.
type Record struct {
	Dialect string `json:"dialect"` // of Text
	Text    string `json:"text"`    // with the calls
	// Functions are those that it needs, by their numbers: also those that bodies call.
	Functions []uint64 `json:"functions"`
	// Means stands for what they compute, of an expression.
	Means string `json:"means,omitempty"`

	unreadable string // what is kept instead; empty: the rest is it
}

// Needs reports whether the text needs a function (CQ2).
func (r *Record) Needs(function uint64) bool {
	return r != nil && (r.unreadable != "" || slices.Contains(r.Functions, function))
}

// Of is what the columns of a view, or of a materialized one, say of its query; nil: that it calls no function.
func Of(columns *arrow.Schema) *Record {
	if columns == nil {
		return nil
	}
	meta := columns.Metadata()
	text, ok := meta.GetValue(viewKey)
	if !ok {
		return nil
	}
	r := &Record{}
	if json.Unmarshal([]byte(text), r) != nil || r.Text == "" {
		return &Record{unreadable: text}
	}
	return r
}

// Mark are columns that say it; r nil: that the query calls no function.
func Mark(columns *arrow.Schema, r *Record) (*arrow.Schema, error) {
	text := ""
	if r != nil {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		text = cmp.Or(r.unreadable, string(data))
	}
	meta := mark.WithAny(columns.Metadata(), viewKey, text)
	return arrow.NewSchema(columns.Fields(), &meta), nil
}
