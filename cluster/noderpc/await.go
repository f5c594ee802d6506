package noderpc

import (
	"context"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// awaitMost is how long a node lets a call wait for news. Then its caller calls again, which shows that it is there.
const awaitMost = 30 * time.Second

// Await has a place of its own and takes none of those that other calls share: it works on nothing while it waits. The
// end of the server ends it at once.
func (h handlers) Await(ctx context.Context, m *nodepb.AwaitRequest) (*nodepb.AwaitResponse, error) {
	seen, err := decodeSeen(m)
	if err != nil {
		return nil, err
	}
	leave, err := enter(h.server.awaits, "calls that follow tables")
	if err != nil {
		return nil, err
	}
	defer leave()
	waiting, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	over := make(chan struct{})
	defer func() { <-over }()
	defer cancel()
	go func() {
		defer close(over)
		select {
		case <-h.during.stopping:
			cancel()
		case <-waiting.Done():
		}
	}()
	changed, err := h.server.node.Await(waiting, seen)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return &nodepb.AwaitResponse{}, nil // nothing so far
	}
	if err != nil {
		return nil, err
	}
	answer := &nodepb.AwaitResponse{}
	for _, id := range changed {
		answer.Changed = append(answer.Changed, uint64(id))
	}
	return answer, nil
}

// decodeSeen bounds what one call follows.
func decodeSeen(m *nodepb.AwaitRequest) (map[catalog.TableID]uint64, error) {
	list := m.GetSeen()
	if len(list) == 0 || len(list) > maxFollowed {
		return nil, badArgument("await: %d tables, 1 to %d are allowed", len(list), maxFollowed)
	}
	seen := make(map[catalog.TableID]uint64, len(list))
	for _, t := range list {
		id := catalog.TableID(t.GetTable())
		if _, twice := seen[id]; twice || id == 0 {
			return nil, badArgument("await: table %d", id)
		}
		seen[id] = t.GetVersion()
	}
	return seen, nil
}

// Await returns when one of the tables is not the version any more that was seen last, with those that are not; or
// after a while with none. It has no time limit but the context's.
func (c *Client) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	request := &nodepb.AwaitRequest{}
	for id, version := range seen {
		request.Seen = append(request.Seen, &nodepb.SeenTable{Table: uint64(id), Version: version})
	}
	m, err := c.rpc.Await(c.outgoing(ctx), request)
	if err != nil {
		return nil, c.failed(ctx, fmt.Sprintf("follow %d tables", len(seen)), err)
	}
	var changed []catalog.TableID
	for _, id := range m.GetChanged() {
		if _, asked := seen[catalog.TableID(id)]; !asked {
			return nil, badMessage("%s says of table %d that it has changed, which it was not asked", c.name, id)
		}
		changed = append(changed, catalog.TableID(id))
	}
	return changed, nil
}
