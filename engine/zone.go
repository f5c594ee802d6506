package engine

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// zones are the time zones that DuckDB knows: name in lower case → name.
type zones struct {
	once  sync.Once
	names map[string]string // immutable after once
	err   error
}

func (e *Engine) zoneNames() (map[string]string, error) {
	e.zones.once.Do(func() {
		conn, err := e.db.Connect(nil)
		if err != nil {
			e.zones.err = err
			return
		}
		defer conn.Close()
		list, err := conn.Texts(context.Background(), "SELECT name FROM system.main.pg_timezone_names()")
		e.zones.err, e.zones.names = err, make(map[string]string, len(list))
		for _, name := range list {
			e.zones.names[strings.ToLower(name)] = name
		}
	})
	return e.zones.names, e.zones.err
}

// zoneNamed finds the time zone that a value of TimeZone means: a name without regard to case, or hours east of UTC.
// It must be one that DuckDB, which computes with it, and Go, in which it is shown, both know.
func (s *Session) zoneNamed(text string) (string, error) {
	invalid := sqlerror.New("22023", "invalid value for parameter \"TimeZone\": \"%s\"", text).
		WithHint("Write the name of a time zone, such as Europe/Berlin or UTC; pg_timezone_names() lists them.")
	if hours, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return zoneOfHours(text, hours)
	}
	names, err := s.engine.zoneNames()
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

// zoneOfHours is the zone that is so many hours ahead of UTC; in such names the sign is the other way round.
func zoneOfHours(text string, hours float64) (string, error) {
	switch {
	case hours != math.Trunc(hours) || hours < -12 || hours > 14:
		return "", sqlerror.New("0A000", "parameter \"TimeZone\" cannot be set to \"%s\" here: offsets are whole hours from -12 to 14", text).
			WithHint("Write the name of a time zone, such as Asia/Kolkata.")
	case hours == 0:
		return "Etc/GMT", nil
	}
	return fmt.Sprintf("Etc/GMT%+d", -int(hours)), nil
}

// zone is the session's time zone, as DuckDB knows it.
func (s *Session) zone() string {
	zone, _ := s.setting(zoneSetting) // it is known
	return zone
}
