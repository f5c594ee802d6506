package ingest

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Index is where a schema has a column of that name, as SQL compares names; negative: nowhere.
func Index(schema *arrow.Schema, name string) int {
	for i, f := range schema.Fields() {
		if strings.EqualFold(f.Name, name) {
			return i
		}
	}
	return -1
}
