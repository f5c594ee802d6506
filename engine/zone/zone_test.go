package zone_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/zone"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Hours are counted to the east, as SQL has it; in the names of zones the sign is the other way round.
func TestZonesOfHours(t *testing.T) {
	zones := zone.New(nil) // it is not asked about hours
	for _, c := range []struct{ text, name, state string }{
		{"0", "Etc/GMT", ""}, {"2", "Etc/GMT-2", ""}, {" -7 ", "Etc/GMT+7", ""}, {"14", "Etc/GMT-14", ""}, {"-12", "Etc/GMT+12", ""},
		{"5.0", "Etc/GMT-5", ""}, {"5.5", "", "0A000"}, {"15", "", "0A000"}, {"-13", "", "0A000"}, {"inf", "", "0A000"},
		{"nan", "", "0A000"},
	} {
		name, err := zones.Named(c.text)
		require.Equal(t, c.state, sqlerror.State(err), "%q: %v", c.text, err)
		require.Equal(t, c.name, name, c.text)
	}
}
