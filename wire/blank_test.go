package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
)

// A line that ends with a carriage return ends its comment, as it does to the parser: what follows is run, not swallowed.
func TestBlank(t *testing.T) {
	for sql, want := range map[string]bool{
		"": true, " ;\t;\n": true, "--": true, "-- a\n;/* /* b */ ; */": true, "\u00a0\u2003;": true,
		"-- a\rSELECT 1": false, "SELECT 1": false, ";;1": false, "/*": false, "/* /* */": false, "-": false, "''": false,
	} {
		require.Equal(t, want, isBlank(lex.Client.Text(sql)), "%q", sql)
	}
}
