package former

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// The parameters of a table that say which former versions are kept.
const (
	retention        = "retention"
	retainedVersions = "retained_versions"
)

// versionsDefault is how many versions are kept where only for how long is said; it is on record then, and shown.
const versionsDefault = 1000

// versionsMost bounds how many are kept: every node has their records in memory.
const versionsMost = 100_000

// ageMost bounds how long they are kept where that is bounded.
const ageMost = 100 * 365 * 24 * time.Hour

// Is reports whether a parameter of a table is one of retention.
func Is(name string) bool { return name == retention || name == retainedVersions }

// Parameters reads what the WITH (…) of a CREATE TABLE says of retention.
func Parameters(with string) (catalog.Retention, error) {
	list, err := statement.Storage(with)
	if err != nil {
		return catalog.Retention{}, err
	}
	return set(catalog.Retention{}, list)
}

// set is a retention with what options say of it.
func set(r catalog.Retention, options []statement.Option) (catalog.Retention, error) {
	for _, o := range options {
		switch o.Name {
		case retention:
			age, err := age(o.Value)
			if err != nil {
				return r, err
			}
			if r.Age = age; r.Versions == 0 {
				r.Versions = versionsDefault
			}
		case retainedVersions:
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 || n > versionsMost {
				return r, sqlerror.New("22023", "invalid value for %s: %q", retainedVersions, o.Value).
					WithHint("It is a number from 1 to " + strconv.Itoa(versionsMost) +
						"; RESET (retention, retained_versions) keeps none.")
			}
			r.Versions = n
		}
	}
	return r, nil
}

// reset is a retention without what names say.
func reset(r catalog.Retention, names []string) catalog.Retention {
	aged := r.Age > 0
	if slices.Contains(names, retention) {
		if r.Age = 0; r.Versions == versionsDefault && aged {
			r.Versions = 0
		}
	}
	if slices.Contains(names, retainedVersions) {
		if r.Versions = 0; r.Age > 0 {
			r.Versions = versionsDefault
		}
	}
	return r
}

// units are those of an age, the largest first.
var units = []struct {
	name string
	of   time.Duration
}{
	{"week", 7 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute},
	{"second", time.Second}, {"millisecond", time.Millisecond},
}

// age reads '7 days', '1 day 12 hours'.
func age(text string) (total time.Duration, err error) {
	refused := sqlerror.New("22023", "invalid value for %s: %q", retention, text).
		WithHint("Say for how long, as '7 days' or '1 day 12 hours': in " +
			"weeks, days, hours, minutes, seconds or milliseconds.")
	words := strings.Fields(text)
	if len(words) == 0 || len(words)%2 != 0 {
		return 0, refused
	}
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseFloat(words[i], 64)
		unit := unitOf(words[i+1])
		if err != nil || unit == 0 || !(n >= 0) || n*float64(unit) > float64(ageMost) {
			return 0, refused
		}
		total += time.Duration(math.Round(n * float64(unit)))
	}
	total = total.Round(time.Millisecond)
	if total <= 0 || total > ageMost {
		return 0, refused
	}
	return total, nil
}

func unitOf(word string) time.Duration {
	word = strings.TrimSuffix(strings.ToLower(word), "s")
	for _, u := range units {
		if word == u.name {
			return u.of
		}
	}
	return 0
}

// shownAge is an age in as few units as it needs.
func shownAge(d time.Duration) string {
	var words []string
	for _, u := range units[1:] { // 7 days, and not 1 week
		n := int64(d / u.of)
		if d -= time.Duration(n) * u.of; n == 0 {
			continue
		}
		word := strconv.FormatInt(n, 10) + " " + u.name
		if n != 1 {
			word += "s"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Shown are the parameters of a retention as PostgreSQL shows those of a table: name=value.
func Shown(r catalog.Retention) (options []string) {
	if !r.Keeps() {
		return nil
	}
	if r.Age > 0 {
		options = append(options, retention+"="+shownAge(r.Age))
	}
	return append(options, retainedVersions+"="+strconv.Itoa(r.Versions))
}
