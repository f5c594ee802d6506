package configuration_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/sql/statement"
)

// What SET TRANSACTION may change depends on whether the transaction has its snapshot, and savepoints.
func TestModesChanged(t *testing.T) {
	type modes = configuration.Modes
	const serializable, repeatable = "serializable", "repeatable read"
	for _, c := range []struct {
		what   string
		before modes
		asked  statement.Modes
		late   bool
		want   modes
		state  string
	}{
		{"nothing", modes{ReadOnly: true}, statement.Modes{}, true, modes{ReadOnly: true}, ""},
		{"level", modes{}, statement.Modes{Isolation: serializable}, false, modes{Isolation: serializable}, ""},
		{"level late", modes{}, statement.Modes{Isolation: serializable}, true, modes{}, "25001"},
		{"the same level late", modes{Isolation: serializable}, statement.Modes{Isolation: serializable}, true, modes{Isolation: serializable}, ""},
		{"down late", modes{Isolation: serializable}, statement.Modes{Isolation: repeatable}, true, modes{Isolation: serializable}, "25001"},
		{"read only late", modes{}, statement.Modes{ReadOnly: true}, true, modes{ReadOnly: true}, ""},
		{"read write", modes{ReadOnly: true}, statement.Modes{ReadWrite: true}, false, modes{}, ""},
		{"read write late", modes{ReadOnly: true}, statement.Modes{ReadWrite: true}, true, modes{ReadOnly: true}, "25001"},
		{"deferrable", modes{Isolation: serializable, ReadOnly: true}, statement.Modes{Deferrable: true}, false,
			modes{Isolation: serializable, ReadOnly: true, Deferrable: true}, ""},
		{"deferrable late", modes{Isolation: serializable, ReadOnly: true}, statement.Modes{Deferrable: true}, true,
			modes{Isolation: serializable, ReadOnly: true}, "25001"},
		{"deferrable without meaning", modes{}, statement.Modes{Deferrable: true}, false, modes{}, "0A000"},
		{"not deferrable", modes{Isolation: serializable, ReadOnly: true, Deferrable: true}, statement.Modes{NotDeferrable: true}, false,
			modes{Isolation: serializable, ReadOnly: true}, ""},
		{"not deferrable late", modes{}, statement.Modes{NotDeferrable: true}, true, modes{}, "25001"},
	} {
		got, err := c.before.Changed(c.asked, c.late, false)
		require.Equal(t, c.want, got, c.what)
		if c.state == "" {
			require.NoError(t, err, c.what)
			continue
		}
		var failure interface{ SQLState() string }
		require.True(t, errors.As(err, &failure), c.what)
		require.Equal(t, c.state, failure.SQLState(), c.what)
	}
	for _, c := range []struct {
		what          string
		before, asked statement.Modes
		refused       bool
	}{
		{"level", statement.Modes{}, statement.Modes{Isolation: serializable}, true},
		{"the same level", statement.Modes{Isolation: serializable}, statement.Modes{Isolation: serializable}, false},
		{"read only", statement.Modes{}, statement.Modes{ReadOnly: true}, false},
		{"read write of one that is", statement.Modes{}, statement.Modes{ReadWrite: true}, false},
		{"read write", statement.Modes{ReadOnly: true}, statement.Modes{ReadWrite: true}, true},
		{"not deferrable", statement.Modes{}, statement.Modes{NotDeferrable: true}, true},
	} {
		before, err := modes{}.Changed(c.before, false, false)
		require.NoError(t, err)
		_, err = before.Changed(c.asked, false, true)
		require.Equal(t, c.refused, err != nil, "%s below a savepoint", c.what)
	}
}
