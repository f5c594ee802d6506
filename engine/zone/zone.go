package zone

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Zones are the time zones that a DuckDB knows. Safe for concurrent use.
type Zones struct {
	db *duckdb.Database

	once  sync.Once         // what follows is found out when it is asked for first
	names map[string]string // in lower case → name; immutable after once
	err   error
}

// New are the zones of db.
func New(db *duckdb.Database) *Zones { return &Zones{db: db} }

// Names are the zones by their names in lower case. The map is not to be changed.
func (z *Zones) Names() (map[string]string, error) {
	z.once.Do(func() {
		conn, err := z.db.Connect(nil)
		if err != nil {
			z.err = err
			return
		}
		defer conn.Close()
		list, err := conn.Texts(context.Background(), "SELECT name FROM system.main.pg_timezone_names()")
		z.err, z.names = err, make(map[string]string, len(list))
		for _, name := range list {
			z.names[strings.ToLower(name)] = name
		}
	})
	return z.names, z.err
}

// Named finds the time zone that a value of TimeZone means: a name without regard to case, or hours east of UTC.
// It must be one that DuckDB, which computes with it, and Go, in which it is shown, both know.
func (z *Zones) Named(text string) (string, error) {
	invalid := sqlerror.New("22023", "invalid value for parameter \"TimeZone\": \"%s\"", text).
		WithHint("Write the name of a time zone, such as Europe/Berlin or UTC; pg_timezone_names() lists them.")
	if hours, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return ofHours(text, hours)
	}
	names, err := z.Names()
	if err != nil {
		return "", err
	}
	name, ok := names[strings.ToLower(text)]
	if !ok {
		return "", invalid
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "", invalid
	}
	return name, nil
}

// ofHours is the zone that is so many hours ahead of UTC; in such names the sign is the other way round.
func ofHours(text string, hours float64) (string, error) {
	switch {
	case hours != math.Trunc(hours) || hours < -12 || hours > 14:
		return "", sqlerror.New("0A000", "parameter \"TimeZone\" cannot be set to \"%s\" here: offsets are whole hours from -12 to 14", text).
			WithHint("Write the name of a time zone, such as Asia/Kolkata.")
	case hours == 0:
		return "Etc/GMT", nil
	}
	return fmt.Sprintf("Etc/GMT%+d", -int(hours)), nil
}
