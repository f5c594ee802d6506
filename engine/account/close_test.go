package account

import (
	"sync"
	"testing"
)

// A1: sessions that end while others charge are in the sums until what they had is given back. The account checks
// itself at each step of a build with invariants.
func TestSessionsEndBesideOthers(t *testing.T) {
	n := NewNode(1 << 30)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for range 3000 {
				s := n.Open(uint32(worker), "u")
				if s.Begin(10) == nil && s.Take(Plan, 100) == nil {
					s.Give(Plan, 50)
				}
				s.Close()
			}
		})
	}
	all.Wait()
	if used := n.Usage().Used; used != 0 {
		t.Fatalf("%d bytes are held by no session", used)
	}
}
