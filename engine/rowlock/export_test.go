package rowlock

import "runtime"

// AwaitWaiting returns once an owner waits.
func AwaitWaiting(o *Owner) {
	for {
		o.locks.mu.Lock()
		waits := o.waits
		o.locks.mu.Unlock()
		if waits != nil {
			return
		}
		runtime.Gosched()
	}
}
