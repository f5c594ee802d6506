package literal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A date of PostgreSQL's that DuckDB does not read, with a time behind it or not, and a weekday before it. A month
// between slashes is none of them: whether it comes before the day depends on DateStyle.
var (
	dates = []struct {
		pattern *regexp.Regexp
		layouts []string
	}{
		{regexp.MustCompile(`^[0-9]{8}`), []string{"20060102"}},
		{regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`), []string{time.DateOnly}},
		{regexp.MustCompile(`^[0-9]{4}\.[0-9]{3}`), []string{"2006.002"}},
		{regexp.MustCompile(`^[0-9]{4}-[a-z]{3,9}-[0-9]{1,2}`), []string{"2006-Jan-2", "2006-January-2"}},
		{regexp.MustCompile(`^[a-z]{3,9}-[0-9]{1,2}-[0-9]{4}`), []string{"Jan-2-2006", "January-2-2006"}},
		{regexp.MustCompile(`^[0-9]{1,2}-[a-z]{3,9}-[0-9]{4}`), []string{"2-Jan-2006", "2-January-2006"}},
		{regexp.MustCompile(`^[a-z]{3,9} +[0-9]{1,2},? +[0-9]{4}`), []string{"Jan 2 2006", "January 2 2006"}},
		{regexp.MustCompile(`^[0-9]{1,2} +[a-z]{3,9},? +[0-9]{4}`), []string{"2 Jan 2006", "2 January 2006"}},
	}
	weekday    = regexp.MustCompile(`^(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*,? +`)
	timeInside = regexp.MustCompile(`^([a-z]{3,9} +[0-9]{1,2}) +(` + timeOfDay + `) +([0-9]{4})$`)
	timeBehind = regexp.MustCompile(`^(?:t| +)(?:` + timeAndZone + `)$`)
	timeAlone  = regexp.MustCompile(`^(?:` + timeAndZone + `)$`)
)

const (
	timeOfDay   = `[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?`
	timeAndZone = `(` + timeOfDay + `|[0-9]{6}(?:\.[0-9]+)?) *(am|pm)? *(z|utc|[-+][0-9]{2}(?::?[0-9]{2})?)?`
)

// iso writes a date that DuckDB does not read as one that it reads; what is none, or what it reads, stays as it is.
func iso(text string) string {
	if len(text) < len("20060102") || len(text) > len("Wednesday, September 30, 2020 10:20:30.123456 +00:00") {
		return text
	}
	plain := strings.Trim(text, blanks)
	if !mayBeDate(plain) {
		return text
	}
	plain = strings.ToLower(plain)
	plain = plain[len(weekday.FindString(plain)):]
	if m := timeInside.FindStringSubmatch(plain); m != nil {
		plain = m[1] + " " + m[3] + " " + m[2]
	}
	for _, d := range dates {
		found := d.pattern.FindString(plain)
		if found == "" {
			continue
		}
		behind, ok := clock(plain[len(found):])
		if !ok {
			return text
		}
		words := strings.Join(strings.Fields(strings.ReplaceAll(found, ",", " ")), " ")
		for _, layout := range d.layouts {
			if day, err := time.Parse(layout, words); err == nil && day.Year() > 0 {
				return day.Format(time.DateOnly) + behind
			}
		}
		return text
	}
	return text
}

// mayBeDate is a cheap check, which is false for most texts.
func mayBeDate(text string) bool {
	if len(text) < len("20060102") {
		return false
	}
	if !isDigit(text[0]) {
		switch strings.ToLower(text[:3]) {
		case "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
			"sun", "mon", "tue", "wed", "thu", "fri", "sat":
			return true
		}
		return false
	}
	digits := 1
	for digits < 8 && isDigit(text[digits]) {
		digits++
	}
	switch digits {
	case 8:
		return true
	case 4:
		return text[4] == '.' || text[4] == '-' && (!isDigit(text[5]) || zoneBehindMinutes(text) || halfDay(text))
	case 1, 2:
		return text[digits] == ' ' || text[digits] == '-' && !isDigit(text[digits+1])
	}
	return false
}

// zoneBehindMinutes reports whether something that is no second stands behind the minutes of an ISO date with a time:
// where a zone does, DuckDB wants seconds.
func zoneBehindMinutes(text string) bool {
	const minutes = len("2006-01-02 15:04")
	return len(text) > minutes && text[minutes-3] == ':' && text[minutes] != ':'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// halfDay reports whether a time may be one of half a day.
func halfDay(text string) bool {
	return strings.ContainsAny(text, "mM") && strings.ContainsAny(text, "aApP")
}

// timeOnly is iso for a time without a date: of half a day, without colons, or with a zone behind the minutes.
func timeOnly(text string) string {
	plain := strings.Trim(text, blanks)
	if len(plain) < len("1:00am") || !isDigit(plain[0]) ||
		strings.Contains(plain, ":") && !halfDay(plain) && !strings.ContainsAny(plain, "+-zZ") {
		return text
	}
	if m := timeAlone.FindStringSubmatch(strings.ToLower(plain)); m != nil {
		if at, ok := written(m[1], m[2], m[3]); ok {
			return at
		}
	}
	return text
}

// clock writes the time behind a date, if there is one.
func clock(text string) (behind string, ok bool) {
	if text == "" {
		return "", true
	}
	m := timeBehind.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	at, ok := written(m[1], m[2], m[3])
	return " " + at, ok
}

// written is a time as DuckDB reads it; false: its hour is none of half a day.
func written(at, half, zone string) (text string, ok bool) {
	switch {
	case !strings.Contains(at, ":"):
		at = at[:2] + ":" + at[2:4] + ":" + at[4:]
	case strings.Count(at, ":") == 1:
		at += ":00"
	}
	if len(at) > 1 && at[1] == ':' {
		at = "0" + at
	}
	if half != "" {
		hour, _ := strconv.Atoi(at[:2])
		if hour > 12 {
			return "", false
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
		at = fmt.Sprintf("%02d%s", hour, at[2:])
	}
	if zone = strings.ToUpper(zone); zone == "UTC" {
		zone = "Z"
	}
	return at + zone, true
}
