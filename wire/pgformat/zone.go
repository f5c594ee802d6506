package pgformat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LoadZone finds the zone that SET TimeZone names: an IANA name, UTC, an ISO offset ("+05:30", meaning east of
// Greenwich as PostgreSQL takes a bare number), or a POSIX one ("UTC+3", meaning *west*, as POSIX has it). The error
// has SQLSTATE 22023.
func LoadZone(name string) (*time.Location, error) {
	trimmed := strings.Trim(strings.TrimSpace(name), "'\"")
	switch strings.ToLower(trimmed) {
	case "utc", "gmt", "z", "zulu", "etc/utc":
		return time.UTC, nil
	case "", "local":
		return nil, unknownZone(name) // time.LoadLocation would take them for the server's own zone
	}
	letters := strings.IndexAny(trimmed, "+-0123456789")
	if letters == 0 {
		if seconds, ok := parseOffset(trimmed); ok {
			return fixedZone(seconds), nil
		}
		return nil, unknownZone(name)
	}
	zone, err := time.LoadLocation(trimmed)
	if err == nil {
		return zone, nil
	}
	if letters > 0 && !strings.Contains(trimmed, "/") {
		if seconds, ok := parseOffset(trimmed[letters:]); ok {
			return fixedZone(-seconds), nil
		}
	}
	return nil, unknownZone(name)
}

func unknownZone(name string) error {
	return &ValueError{
		State:   "22023",
		Message: fmt.Sprintf("invalid value for parameter \"TimeZone\": %q", name),
		Help:    "Use a name of the IANA database such as Europe/Berlin, or UTC.",
	}
}

func fixedZone(seconds int) *time.Location {
	return time.FixedZone(string(appendOffset(nil, seconds)), seconds)
}

// parseOffset reads "+3", "-03:30", "5.5" or "+00:53:28" as seconds; a zone is less than a week away, and so is any
// number here.
func parseOffset(text string) (seconds int, ok bool) {
	sign := 1
	switch {
	case strings.HasPrefix(text, "-"):
		sign, text = -1, text[1:]
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	if hours, err := strconv.ParseFloat(text, 64); err == nil && hours >= 0 && hours <= 167 {
		return sign * int(hours*3600), true
	}
	unit := 3600
	for _, part := range strings.Split(text, ":") {
		number, err := strconv.Atoi(part)
		if err != nil || number < 0 || number > 167 || unit == 0 || unit < 3600 && number > 59 {
			return 0, false
		}
		seconds += number * unit
		unit /= 60
	}
	return sign * seconds, true
}
