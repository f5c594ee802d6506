package bytesize_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/internal/bytesize"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]bytesize.Size{
		"0": 0, "17": 17, "17B": 17, "1k": 1024, "4G": 4 << 30, "4GiB": 4 << 30, "4 gb": 4 << 30, "1.5MiB": 3 << 19, " 2T ": 2 << 40, "1P": 1 << 50,
	} {
		got, err := bytesize.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "G", "4X", "4GG", "-1G", "1e30", "NaN", "Inf", "4 G x", "9999999P", "0x10", "4KM"} {
		_, err := bytesize.Parse(text)
		require.Error(t, err, text)
	}
}

func TestString(t *testing.T) {
	for size, want := range map[bytesize.Size]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 106 << 20: "106 MiB", 4 << 30: "4 GiB", 1234567: "1.18 MiB", 1 << 50: "1 PiB", 1 << 62: "4096 PiB",
	} {
		require.Equal(t, want, size.String())
	}
}

// TestRoundTrip: what is printed can be read, and is at most half a percent off, and a byte, because fractions of one are dropped.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := bytesize.Size(rapid.Int64Range(0, 1<<60).Draw(t, "size"))
		back, err := bytesize.Parse(size.String())
		require.NoError(t, err)
		require.InDelta(t, float64(size), float64(back), 0.005*float64(size)+1)
	})
}
