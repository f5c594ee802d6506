package signal_test

import (
	"sync"
	"testing"

	"github.com/csmsql/csmsql/internal/signal"
)

// SG1: a goroutine that read the state before a change is woken by it.
func TestEverybodyIsWoken(t *testing.T) {
	var mu sync.Mutex
	var moved signal.Signal
	state := 0
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() {
			for {
				mu.Lock()
				now, woken := state, moved.Wait()
				mu.Unlock()
				if now == 100 {
					return
				}
				<-woken
			}
		})
	}
	for range 100 {
		mu.Lock()
		state++
		moved.Broadcast()
		mu.Unlock()
	}
	waiting.Wait()
}
