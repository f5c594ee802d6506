package refreshing

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// Client sends the transactions of a source, one after the other. One goroutine uses it at a time.
type Client struct {
	Source *Source
	// Send runs one statement in the node.
	Send func(ctx context.Context, sql string) error
	// Next is the number of the transaction that comes next: all before it are committed. Any goroutine may read it.
	Next atomic.Int64
	// Refused: whether an error means that a transaction lost a race and may be sent again.
	Refused func(error) bool
	// Again counts the transactions that were refused, and sent again.
	Again int64
	// Inserted and Deleted are what the transactions of RF1 and of RF2 took, from BEGIN to the answer to COMMIT.
	Inserted, Deleted []time.Duration
}

// Run sends so many transactions, the i-th one no earlier than i intervals after the first one: one that is late is
// sent at once. When hurry is closed all that are left are sent at once. A negative count runs until hurry is closed.
func (c *Client) Run(ctx context.Context, count int64, interval time.Duration, hurry <-chan struct{}) error {
	begin := time.Now()
	for done := int64(0); done != count; done++ {
		due := time.NewTimer(time.Until(begin.Add(time.Duration(done) * interval)))
		select {
		case <-hurry:
		case <-ctx.Done():
		case <-due.C:
		}
		due.Stop()
		select {
		case <-hurry:
			if count < 0 {
				return ctx.Err()
			}
		default:
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step sends the next transaction until it is committed.
func (c *Client) step(ctx context.Context) error {
	t, err := c.Source.Transaction(ctx, c.Next.Load())
	if err != nil {
		return err
	}
	begin := time.Now()
	for {
		err := c.send(ctx, t)
		if err == nil {
			break
		}
		if !c.Refused(err) {
			return err
		}
		c.Again++
	}
	took := time.Since(begin)
	if t.Inserts {
		c.Inserted = append(c.Inserted, took)
	} else {
		c.Deleted = append(c.Deleted, took)
	}
	c.Next.Add(1)
	return nil
}

func (c *Client) send(ctx context.Context, t Transaction) error {
	if err := c.Send(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, sql := range slices.Concat(t.Changes, []string{t.Count, "COMMIT"}) {
		if err := c.Send(ctx, sql); err != nil {
			return errors.Join(err, c.Send(context.WithoutCancel(ctx), "ROLLBACK"))
		}
	}
	return nil
}
