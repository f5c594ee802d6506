package hugetable

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names are folded as strings.EqualFold compares them.
func TestWithoutCase(t *testing.T) {
	letters := []rune("aAbBkKK sSſßẞΣσςİiıIéÉ\xff7_")
	random := rand.New(rand.NewPCG(4, 4))
	text := func() string {
		var b strings.Builder
		for range random.IntN(4) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	alike := 0
	for range 100_000 {
		a, b := text(), text()
		require.Equal(t, strings.EqualFold(a, b), withoutCase(a) == withoutCase(b), "%q and %q", a, b)
		if a != b && withoutCase(a) == withoutCase(b) {
			alike++
		}
	}
	require.Positive(t, alike)
}
