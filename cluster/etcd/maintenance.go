package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// A member keeps its own database small. bbolt's file never shrinks, and etcd refuses every change once one member's
// file has reached the quota, until an operator has compacted, defragmented, and disarmed the alarm:
//
//	half of the file is free, and little in use ─────► defragment
//	the alarm is raised ─► compact ─► little in use? ─► defragment ─► disarm
//	                                       └► no: the catalog itself is that large, and the log says what helps

const (
	// defragmentLeast is how large a file is at least that is worth the pause of a defragmentation.
	defragmentLeast = 64 << 20
	// defragmentMost is how much may be in use: copying it must end long before sessions that are not renewed do.
	defragmentMost = 256 << 20
	// healedShare is how much of the quota may be in use once the alarm is disarmed, in percent.
	healedShare = 80
)

// database is a member's database, in bytes.
type database struct {
	file, inUse, quota int64
	full               bool // the member has raised etcd's alarm
}

// wasteful reports whether a short defragmentation would give back half of the file.
func (d database) wasteful() bool {
	return d.file >= defragmentLeast && d.inUse < d.file/2 && d.inUse <= defragmentMost
}

// fits reports whether what is in use leaves room for changes.
func (d database) fits() bool { return d.inUse <= d.quota/100*healedShare }

// database says how large the member's is.
func (s *Server) database() database {
	backend := s.etcd.Server.Backend()
	d := database{file: backend.Size(), inUse: backend.SizeInUse(), quota: s.options.QuotaBytes}
	for _, alarm := range s.etcd.Server.Alarms() {
		if alarm.MemberID == uint64(s.etcd.Server.MemberID()) && alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			d.full = true
		}
	}
	return d
}

// refresh makes the size in use true: bbolt counts the pages that a transaction has freed when a later one ends, and in a
// member that is full, or idle, none follows. The two changes here are empty: the bucket is there.
func (s *Server) refresh() {
	backend := s.etcd.Server.Backend()
	for range 2 { // the first lets go of the pages, the second counts them
		tx := backend.BatchTx()
		tx.LockOutsideApply()
		tx.UnsafeCreateBucket(schema.Meta)
		tx.Unlock()
		backend.ForceCommit()
	}
}

// healAtStart makes room before the member is used: a node that starts with a larger quota could not even open its
// catalog while the alarm of the former start is raised. It reports whether it has warned.
func (s *Server) healAtStart(ctx context.Context) (warned bool) {
	if !s.database().full {
		return false
	}
	client := v3client.New(s.etcd.Server)
	defer func() { _ = client.Close() }() // it has no connection
	return s.heal(ctx, client, false)
}

// maintain looks after the database until the member ends.
func (s *Server) maintain(warned bool) {
	ticker := time.NewTicker(s.options.Maintenance)
	defer ticker.Stop()
	client := v3client.New(s.etcd.Server)
	defer func() { _ = client.Close() }() // it has no connection
	for {
		select {
		case <-s.serving.Done():
			return
		case <-s.done:
			return
		case <-ticker.C:
		}
		d := s.database()
		if d.file >= defragmentLeast && !d.wasteful() {
			s.refresh()
			d = s.database()
		}
		switch {
		case d.full:
			warned = s.heal(s.serving, client, warned)
		case d.wasteful():
			s.report("defragment etcd's database", s.defragment())
		}
	}
}

// heal makes room in a database that is full, and lets etcd accept changes again. It warns once if there is none.
func (s *Server) heal(ctx context.Context, client *clientv3.Client, warned bool) bool {
	ctx, cancel := context.WithTimeout(fromHere(ctx), s.options.Maintenance+time.Minute)
	defer cancel()
	_, err := client.Compact(ctx, s.etcd.Server.KV().Rev(), clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		s.report("compact etcd's database, which is full", err)
		return warned
	}
	s.refresh()
	if d := s.database(); !d.fits() {
		if !warned {
			s.options.Log.Error("etcd's database is full, and holds nothing that could be left out: "+
				"start this node with a larger --etcd-quota, or drop tables",
				"member", s.options.Name, "bytes", d.inUse, "quota", d.quota)
		}
		return true
	}
	if err := s.defragment(); err != nil {
		s.report("defragment etcd's database, which is full", err)
		return warned
	}
	own := &clientv3.AlarmMember{MemberID: uint64(s.etcd.Server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := client.AlarmDisarm(ctx, own); err != nil {
		s.report("disarm etcd's alarm of a full database", err)
		return warned
	}
	s.options.Log.Info("etcd's database was full, and has room again", "member", s.options.Name,
		"bytes", s.etcd.Server.Backend().Size())
	return false
}

// defragment rewrites the file without its free pages. The member answers nothing meanwhile.
func (s *Server) defragment() error {
	server := s.etcd.Server
	before := server.Backend().Size()
	err := server.Defragment()
	if err == nil {
		s.options.Log.Info("etcd's database was defragmented", "member", s.options.Name,
			"from", before, "to", server.Backend().Size())
	}
	return err
}

func (s *Server) report(what string, err error) {
	if err != nil && s.serving.Err() == nil {
		s.options.Log.Warn("could not "+what, "member", s.options.Name, "error", err)
	}
}
