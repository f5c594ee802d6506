package custody

import "github.com/csmsql/csmsql/catalog"

// Inner is the grant that a Space's is of.
func Inner(g catalog.Grant) catalog.Grant {
	if growing, ok := g.(*growingGrant); ok {
		return growing.Grant
	}
	return g.(*grant).Grant
}
