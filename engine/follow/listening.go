package follow

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// ChannelPrefix is what the names of channels begin with: csm_table_orders, csm_table_sales_orders,
// csm_table_sales.orders.
const ChannelPrefix = "csm_table_"

// GonePayload is the payload of a notification that nothing is called what the channel's table was; others have the
// number of the new version.
const GonePayload = "gone"

// channelsMost is how many channels a session listens to, and how many statements of a transaction say so.
const channelsMost = 1000

// Notification is what a session hears.
type Notification struct{ Channel, Payload string }

// Listening is what one session listens to. Its methods are the session's own, except Heard, which any goroutine may
// call.
type Listening struct {
	source  Source
	account *account.Session
	charged int64
	poke    func()
	// said is what the open transaction has said so far.
	said []change
	// stops end what is listened to, by channel.
	stops map[string]func()
	// listens: there are some. Most sessions have none, and are asked what they have heard after each statement.
	listens atomic.Bool

	mu    sync.Mutex // guards heard
	heard []Notification
}

// change is LISTEN of what a name means, or UNLISTEN, of all channels if there is none.
type change struct {
	channel string
	name    catalog.TableName
	listens bool
}

// NewListening is of a session that listens to nothing yet. What it keeps is charged to the account. poke notifies its
// client that there may be something to hear, and does not block; nil: the client cannot be notified.
func NewListening(source Source, to *account.Session, poke func()) *Listening {
	return &Listening{source: source, account: to, poke: poke, stops: map[string]func(){}}
}

// Listen is LISTEN, of a table that v shows.
func (l *Listening) Listen(v *snapshot.View, channel string) error {
	name, err := tableOf(v, channel)
	if err != nil {
		return err
	}
	if l.poke == nil {
		return sqlerror.New("0A000", "LISTEN is for clients of PostgreSQL's protocol").
			WithHint("A Go program follows a table with Engine.Follow.")
	}
	return l.say(change{channel, name, true})
}

// Unlisten is UNLISTEN; "" is all channels.
func (l *Listening) Unlisten(channel string) error { return l.say(change{channel: channel}) }

func (l *Listening) say(c change) error {
	if len(l.said) >= channelsMost {
		return sqlerror.New("53400", "more than %d LISTEN and UNLISTEN in one transaction", channelsMost)
	}
	new := c.listens && l.stops[c.channel] == nil
	if new && len(l.stops)+len(l.said) >= channelsMost {
		return sqlerror.New("53400", "a session listens to %d channels at most", channelsMost)
	}
	l.said = append(l.said, c)
	err := l.settle()
	if err != nil {
		l.said = l.said[:len(l.said)-1]
	}
	return err
}

// Said counts what the transaction has said, for BackTo.
func (l *Listening) Said() int { return len(l.said) }

// BackTo takes back what was said since.
func (l *Listening) BackTo(said int) {
	if said < len(l.said) {
		l.said = l.said[:said]
		_ = l.settle() // it has less
	}
}

// channelBytes is what a channel takes: its name, thrice, and a watch.
const channelBytes = 2 << 10

// settle charges what is kept now.
func (l *Listening) settle() error {
	keeps := channelBytes * int64(len(l.stops)+len(l.said))
	if keeps > l.charged {
		if err := l.account.Take(account.Listening, keeps-l.charged); err != nil {
			return err
		}
	} else {
		l.account.Give(account.Listening, l.charged-keeps)
	}
	l.charged = keeps
	return nil
}

// Commit has what the transaction said count from now on (FW5), and reports whether that is something.
func (l *Listening) Commit() (changed bool, err error) {
	for _, c := range l.said {
		switch {
		case c.listens && l.stops[c.channel] == nil:
			hear := func(now *catalog.TableVersion, ended error) { l.hear(c.channel, now, ended) }
			stop, failed := l.source.name(c.name, hear)
			if failed != nil {
				err = failed
				break
			}
			l.stops[c.channel] = stop
		case !c.listens:
			l.stop(c.channel)
		}
	}
	changed, l.said = len(l.said) > 0, nil
	l.listens.Store(len(l.stops) > 0)
	_ = l.settle() // what was said is, or is not, what is listened to
	return changed, err
}

// stop ends listening to a channel, or to all.
func (l *Listening) stop(channel string) {
	for listened, stop := range l.stops {
		if channel == "" || listened == channel {
			stop()
			delete(l.stops, listened)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = slices.DeleteFunc(l.heard, func(n Notification) bool { return l.stops[n.Channel] == nil })
}

// hear puts the news of a channel in its place (FW5). The end of everything is not news: the connection ends.
func (l *Listening) hear(channel string, now *catalog.TableVersion, ended error) {
	if ended != nil {
		return
	}
	n := Notification{channel, GonePayload}
	if now != nil {
		n.Payload = strconv.FormatUint(now.Version(), 10)
	}
	l.mu.Lock()
	if i := slices.IndexFunc(l.heard, func(had Notification) bool { return had.Channel == channel }); i >= 0 {
		l.heard[i] = n
	} else {
		l.heard = append(l.heard, n)
	}
	l.mu.Unlock()
	l.poke()
}

// Heard takes at most so many of what was heard. The session's own commits are heard by then.
func (l *Listening) Heard(most int) []Notification {
	if !l.listens.Load() {
		return nil
	}
	l.source.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(most, len(l.heard))
	taken := slices.Clone(l.heard[:n])
	l.heard = slices.Delete(l.heard, 0, n)
	return taken
}

// Channels are those that are listened to, in order.
func (l *Listening) Channels() []string {
	list := make([]string, 0, len(l.stops))
	for channel := range l.stops {
		list = append(list, channel)
	}
	slices.Sort(list)
	return list
}

// Close ends all.
func (l *Listening) Close() {
	l.stop("")
	l.BackTo(0)
	_ = l.settle()
}

// tableOf is the name of the table that a channel is of.
func tableOf(v *snapshot.View, channel string) (catalog.TableName, error) {
	rest, ok := strings.CutPrefix(channel, ChannelPrefix)
	if !ok || rest == "" {
		return catalog.TableName{}, sqlerror.New("0A000", "there is no channel %q", channel).WithHint(
			"LISTEN csm_table_NAME, or csm_table_SCHEMA_NAME, hears of the versions of a table. Others are not supported.")
	}
	var found []catalog.TableName
	var failed error
	for _, name := range namesIn(rest) {
		version, err := Table(v, name)
		switch {
		case err == nil && !slices.Contains(found, version.Table().Name):
			found = append(found, version.Table().Name)
		case err != nil && (failed == nil || sqlerror.State(failed) == "42P01"):
			failed = err
		}
	}
	switch len(found) {
	case 0:
		return catalog.TableName{}, notFound(channel, failed)
	case 1:
		return found[0], nil
	}
	return catalog.TableName{}, sqlerror.New("42P09", "channel %q is ambiguous: there are tables %q and %q", channel,
		found[0].String(), found[1].String()).WithHint("Write a dot between schema and table, and quotes around the channel.")
}

// namesIn are what the end of a channel's name may mean: schema.table, or a table, or a schema and a table behind any
// of the underlines.
func namesIn(rest string) []statement.Name {
	if schema, table, ok := strings.Cut(rest, "."); ok && schema != "" && table != "" {
		return []statement.Name{{Schema: schema, Name: table}, {Name: rest}}
	}
	list := []statement.Name{{Name: rest}}
	for i := 1; i < len(rest)-1; i++ {
		if rest[i] == '_' {
			list = append(list, statement.Name{Schema: rest[:i], Name: rest[i+1:]})
		}
	}
	return list
}

// notFound names the channel where the first thing that its name could mean is not there.
func notFound(channel string, err error) error {
	if sqlerror.State(err) != "42P01" {
		return err
	}
	return sqlerror.New("42P01", "channel %q is of no table", channel).
		WithHint("LISTEN csm_table_NAME, or csm_table_SCHEMA_NAME, is of a table that is there.")
}
