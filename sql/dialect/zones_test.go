package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestZoneOf: abbreviations are zones without summers, names are left alone.
func TestZoneOf(t *testing.T) {
	for abbreviation, want := range map[string]string{
		"PST": "Etc/GMT+8", "cet": "Etc/GMT-1", "NZDT": "Etc/GMT-13", "z": "UTC",
		"Europe/Berlin": "", "EST5EDT": "", "": "", "PS": "", "PST-8": "", "Etc/GMT+8": "",
	} {
		require.Equal(t, want, zoneOf(abbreviation), abbreviation)
	}
}
