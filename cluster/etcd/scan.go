package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/csmsql/csmsql/catalog/store"
)

// A page of a scan: the first one, and what later ones aim at and are bounded by.
const (
	firstPage = 64
	pageBytes = 4 << 20
	minPage   = 4
	maxPage   = 4096
)

// item makes an item of what etcd returned. Its value is not shared.
func (s *Store) item(kv *mvccpb.KeyValue) store.Item {
	i := store.Item{Key: string(kv.Key[len(s.keys):]), Value: kv.Value, Revision: store.Revision(kv.ModRevision), Ephemeral: kv.Lease != 0}
	if i.Value == nil {
		i.Value = []byte{} // as other stores have it
	}
	return i
}

// Scan implements store.Store. It reads in pages, each a call of its own, all as of the revision that the first one
// found.
func (s *Store) Scan(ctx context.Context, prefixes []string, visit func(store.Item) error) (store.Revision, error) {
	revision, err := s.newest(ctx)
	if err != nil {
		return 0, err
	}
	for _, prefix := range prefixes {
		if err := s.scan(ctx, prefix, revision, visit); err != nil {
			return 0, err
		}
	}
	return store.Revision(revision), nil
}

// newest is a revision no older than any that was acknowledged before the call.
func (s *Store) newest(ctx context.Context) (int64, error) {
	call, done, err := s.call(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if _, err := s.settled(call); err != nil && !isSessionOver(err) {
		return 0, s.failure(ctx, "read the catalog", err)
	}
	answer, err := s.ask(call, s.keys, clientv3.WithCountOnly())
	if err != nil {
		return 0, s.failure(ctx, "read the catalog", err)
	}
	return answer.Header.Revision, nil
}

func (s *Store) scan(ctx context.Context, prefix string, revision int64, visit func(store.Item) error) error {
	from, end := s.keys+prefix, clientv3.GetPrefixRangeEnd(s.keys+prefix)
	for limit := int64(firstPage); ; {
		page, err := s.page(ctx, from, end, revision, limit)
		if err != nil {
			return err
		}
		for _, kv := range page.Kvs {
			if err := visit(s.item(kv)); err != nil {
				return err
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		limit = nextPage(page.Kvs)
	}
}

func (s *Store) page(ctx context.Context, from, end string, revision, limit int64) (*clientv3.GetResponse, error) {
	call, done, err := s.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page, err := s.ask(call, from, clientv3.WithRange(end), clientv3.WithRev(revision), clientv3.WithLimit(limit))
	if err != nil {
		return nil, s.failure(ctx, fmt.Sprintf("read the catalog from %q on", from), err)
	}
	return page, nil
}

// nextPage is how many items make a good page, if the next ones are as large as these.
func nextPage(items []*mvccpb.KeyValue) int64 {
	bytes := 1
	for _, kv := range items {
		bytes += len(kv.Key) + len(kv.Value)
	}
	return int64(min(max(pageBytes*len(items)/bytes, minPage), maxPage, 4*len(items)))
}
