package collector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
)

func TestMeetingsPass(t *testing.T) {
	var l meetings
	now := time.Unix(1000, 0)
	require.False(t, l.meet(1, now))
	l.met(1, now)
	require.True(t, l.meet(1, now.Add(time.Millisecond)))
	require.False(t, l.meet(2, now.Add(time.Millisecond)), "another table")
	require.False(t, l.meet(1, now.Add(remembered)))
}

// HN3.
func TestANodeThatDoesNotCollectIsLeftAlone(t *testing.T) {
	var l meetings
	now := time.Unix(1000, 0)
	l.met(1, now)
	l.failed(1, now)
	require.False(t, l.meet(1, now.Add(spared)))
	require.True(t, l.meet(1, now.Add(spared+time.Millisecond)))
}

// A node is informed of others as long as they come, and the collector itself is one of them.
func TestOthersAreThoseThatCame(t *testing.T) {
	var l meetings
	now := time.Unix(1000, 0)
	l.committed(1, "self", now)
	require.Empty(t, l.tables, "of a table at which none was met")
	require.False(t, l.collected(1, "a", now))
	require.True(t, l.collected(1, "b", now))
	require.True(t, l.collected(1, "a", now.Add(remembered)))
	require.False(t, l.collected(1, "a", now.Add(remembered+time.Millisecond)), "b came too long ago")
	l.committed(1, "self", now.Add(2*remembered))
	require.True(t, l.collected(1, "a", now.Add(2*remembered)))
}

// Tables that are remembered are bounded; while there is no room, nodes that come are to go on.
func TestMeetingsAreBounded(t *testing.T) {
	var l meetings
	now := time.Unix(1000, 0)
	for table := range catalog.TableID(meetingsMost + 1) {
		l.met(table+1, now)
	}
	require.Len(t, l.tables, meetingsMost)
	require.False(t, l.meet(meetingsMost+1, now.Add(time.Millisecond)))
	require.True(t, l.collected(meetingsMost+1, "a", now))
	l.met(meetingsMost+1, now.Add(remembered+time.Millisecond))
	require.Len(t, l.tables, 1)
}
