package statement

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// explainOptions are those of PostgreSQL, with the value that each has here; a list of its other values is refused.
var explainOptions = map[string]string{
	"analyze": "", "analyse": "", "verbose": "off", "costs": "on", "settings": "off", "buffers": "off", "wal": "off", "timing": "on",
	"summary": "off", "format": "text",
}

// checkExplain refuses options of EXPLAIN that are none, and values that would have no effect.
func (c *cursor) checkExplain(e *Explain) error {
	for _, o := range e.Options {
		kept, known := explainOptions[o.Name]
		value := strings.ToLower(strings.TrimSpace(o.Value))
		on, isBoolean := o.boolean()
		switch {
		case !known:
			return &sqlerror.Error{State: "42601", Message: "unrecognized EXPLAIN option \"" + o.Name + "\""}
		case o.Name == "format" && !slices.Contains([]string{"text", "json", "xml", "yaml"}, value):
			return &sqlerror.Error{State: "22023", Message: "unrecognized value for EXPLAIN option \"format\": \"" + o.Value + "\""}
		case o.Name == "format" && value != kept:
			return unsupported("EXPLAIN (FORMAT "+strings.ToUpper(value)+") is not supported", "The plan is text: leave FORMAT out.")
		case o.Name != "format" && !isBoolean:
			return o.notBoolean()
		case o.Name == "timing" && on && !e.Analyze:
			return &sqlerror.Error{State: "22023", Message: "EXPLAIN option TIMING requires ANALYZE"}
		case o.Name == "format" || kept == "":
		case on != (kept == "on"):
			return unsupported("EXPLAIN ("+o.clause()+") is not supported", "Leave it out, or write "+strings.ToUpper(o.Name)+" "+kept+".")
		}
	}
	return nil
}
