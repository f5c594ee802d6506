package grammar

import (
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// What the lists name is there: a name that pg_query does not know any more would hide nothing, and one that is mistyped neither.
func TestListsNameWhatIsThere(t *testing.T) {
	nodes, options, fields := map[string]bool{}, map[string]bool{}, map[string]bool{}
	messages := (&pg.Node{}).ProtoReflect().Descriptor().ParentFile().Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		nodes[string(m.Name())] = true
		for _, o := range ofMessage(m) {
			field, _, _ := strings.Cut(string(o), "=")
			options[string(o)], options[field] = true, true
			if _, name, ok := strings.Cut(field, "."); ok {
				fields["*."+name] = true
			}
		}
	}
	for _, node := range temporaryNodes {
		if !nodes[node] {
			t.Errorf("temporaryNodes: no %s", node)
		}
	}
	for node := range analyzed {
		if !nodes[node] {
			t.Errorf("analyzed: no %s", node)
		}
	}
	for option := range unwritten {
		if !options[option] && !fields[option] {
			t.Errorf("unwritten: no %s", option)
		}
	}
	for field, kinds := range objects {
		for kind := range kinds {
			if !options[field+"="+kind] {
				t.Errorf("objects: no %s=%s", field, kind)
			}
		}
	}
	for field := range codes {
		if !options[field] {
			t.Errorf("codes: no %s", field)
		}
	}
	for field := range bitNames {
		if !options[field] {
			t.Errorf("bitNames: no %s", field)
		}
	}
}
