package wire

import (
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// reports queues what the session reported through Client and the connection has not sent yet. Sessions may report from
// any goroutine; only the connection's own goroutine writes to the client.
type reports struct {
	mu         sync.Mutex
	notices    []Notice          // guarded by mu; at most NoticesMax, and NoticesBytesMax and one
	bytes      int               // guarded by mu; of notices
	dropped    int               // guarded by mu; notices beyond that
	parameters []parameterChange // guarded by mu; bounded by the number of reported names
}

type parameterChange struct{ name, value string }

// Notice implements Client.
func (c *connection) Notice(notice Notice) {
	c.reports.mu.Lock()
	defer c.reports.mu.Unlock()
	if len(c.reports.notices) >= NoticesMax || c.reports.bytes >= NoticesBytesMax {
		c.reports.dropped++
		return
	}
	c.reports.bytes += len(notice.Message) + len(notice.Detail) + len(notice.Hint)
	c.reports.notices = append(c.reports.notices, notice)
}

// Untime implements Client.
func (c *connection) Untime() { c.running.untime() }

// SetParameter implements Client.
func (c *connection) SetParameter(name, value string) {
	canonical, ok := canonicalName(name)
	if !ok {
		return
	}
	c.reports.mu.Lock()
	defer c.reports.mu.Unlock()
	for i, change := range c.reports.parameters {
		if change.name == canonical {
			c.reports.parameters[i].value = value
			return
		}
	}
	c.reports.parameters = append(c.reports.parameters, parameterChange{canonical, value})
}

// sendNotices passes queued notices on.
func (c *connection) sendNotices() {
	c.reports.mu.Lock()
	notices, dropped := c.reports.notices, c.reports.dropped
	c.reports.notices, c.reports.bytes, c.reports.dropped = nil, 0, 0
	c.reports.mu.Unlock()
	if dropped > 0 {
		notices = append(notices, Notice{Severity: "WARNING", SQLState: "01000", Message: fmt.Sprintf("%d further notices were dropped", dropped)})
	}
	for _, notice := range notices {
		severity, state := notice.Severity, notice.SQLState
		if severity == "" {
			severity = "NOTICE"
		}
		if state == "" {
			state = "00000"
		}
		c.out.send(&pgproto3.NoticeResponse{
			Severity: severity, SeverityUnlocalized: severity, Code: state,
			Message: notice.Message, Detail: notice.Detail, Hint: notice.Hint,
		})
	}
}

// takeReports applies queued parameter changes and returns those that must be sent to the client.
func (c *connection) takeReports() (changed []parameterChange) {
	c.reports.mu.Lock()
	changes := c.reports.parameters
	c.reports.parameters = nil
	c.reports.mu.Unlock()
	for _, change := range changes {
		if c.setParameter(change.name, change.value) {
			changed = append(changed, change)
		}
	}
	return changed
}

// sendReports sends everything that the session reported.
func (c *connection) sendReports() {
	c.sendNotices()
	for _, change := range c.takeReports() {
		c.out.send(&pgproto3.ParameterStatus{Name: change.name, Value: change.value})
	}
}
