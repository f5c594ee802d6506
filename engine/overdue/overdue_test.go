package overdue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/overdue"
)

// enter reports whether there was a place.
func enter(p *overdue.Places) bool {
	select {
	case p.Door() <- struct{}{}:
		return true
	default:
		return false
	}
}

// OV1, OV2: places are bounded, and free again when their statements have ended, or were not left alone.
func TestPlaces(t *testing.T) {
	p := overdue.New(2)
	require.True(t, enter(p))
	start := time.Unix(100, 0)
	newer := p.Put(overdue.Statement{Session: 2, User: "b", Text: "B", Since: start.Add(1)})
	require.True(t, enter(p))
	require.False(t, enter(p))
	p.Leave()
	require.True(t, enter(p))
	older := p.Put(overdue.Statement{Session: 1, User: "a", Text: "A", Since: start})
	require.False(t, enter(p))
	require.Equal(t, overdue.Usage{Now: 2, Most: 2, Total: 2}, p.Usage())
	list := p.List()
	require.Equal(t, []string{"A", "B"}, []string{list[0].Text, list[1].Text})
	older()
	require.True(t, enter(p))
	p.Leave()
	newer()
	require.Empty(t, p.List())
	require.Equal(t, overdue.Usage{Most: 2, Total: 2}, p.Usage())
}
