package setting

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Values are what a setting has when it is given another one: DateStyle keeps of them what the new one does not say.
// The zero value is the setting's default.
type Values struct {
	Now   string
	Reset string // what RESET brings back
}

// Read gives the value that the words of a SET mean, if it may be set: one word of most settings, several of lists.
// Words are without quotes.
func (s *Setting) Read(of Values, words ...string) (string, error) {
	if len(words) != 1 && !lists[s.Name] {
		return "", sqlerror.New("22023", "SET %s takes only one argument", s.Name)
	}
	return s.ReadText(of, s.join(words))
}

// ReadText is Read of what set_config() and a client's start-up say: lists are written as one text.
func (s *Setting) ReadText(of Values, text string) (string, error) {
	value, err := s.Parse(of, text)
	if err != nil {
		return "", err
	}
	return value, s.check(value)
}

// join makes one text of the words of a SET, as SHOW shows it: those of some lists are names.
func (s *Setting) join(words []string) string {
	parts := slices.Clone(words)
	if quotedLists[s.Name] {
		for i, word := range words {
			if !plainName.MatchString(word) {
				parts[i] = lex.Quote(word)
			}
		}
	}
	return strings.Join(parts, ", ")
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Parse gives the value that a text means, whether or not it may be set: type, unit, range and words are checked.
func (s *Setting) Parse(of Values, text string) (string, error) {
	switch s.Kind {
	case Bool:
		return s.parseBool(text)
	case Integer, Real:
		return s.parseNumber(text)
	case Enum:
		return s.parseWord(text)
	}
	if read := readers[s.Name]; read != nil {
		return read(s, of, text)
	}
	return text, nil
}

// check refuses values of a fixed setting that would have no effect.
func (s *Setting) check(value string) error {
	if s.Policy == Kept || slices.Contains(s.Possible, value) {
		return nil
	}
	shown := make([]string, len(s.Possible))
	for i, p := range s.Possible {
		shown[i] = `"` + s.Show(p) + `"`
	}
	e := sqlerror.New("0A000", `parameter "%s" cannot be set to "%s" here, only to %s`, s.Name, s.Show(value), strings.Join(shown, " or "))
	e.HintText = s.Advice
	return e
}

// parseBool takes what PostgreSQL takes: true, yes, on, 1, their opposites, and every prefix that distinguishes one of
// them.
func (s *Setting) parseBool(text string) (string, error) {
	word := strings.ToLower(text)
	for _, b := range []struct {
		word, value string
		least       int
	}{{"true", "on", 1}, {"false", "off", 1}, {"yes", "on", 1}, {"no", "off", 1}, {"on", "on", 2}, {"off", "off", 2}, {"1", "on", 1}, {"0", "off", 1}} {
		if len(word) >= b.least && strings.HasPrefix(b.word, word) {
			return b.value, nil
		}
	}
	return "", sqlerror.New("22023", `parameter "%s" requires a Boolean value`, s.Name)
}

func (s *Setting) parseWord(text string) (string, error) {
	word := strings.ToLower(text)
	if other, ok := synonyms[s.Name][word]; ok {
		word = other
	}
	for _, w := range s.Words {
		if strings.EqualFold(w, word) {
			return w, nil
		}
	}
	if slices.Contains(s.Words, "on") && slices.Contains(s.Words, "off") { // PostgreSQL takes a Boolean's other words, and lists them not
		if value, err := s.parseBool(text); err == nil {
			return value, nil
		}
	}
	e := s.Invalid(text)
	e.HintText = "Available values: " + strings.Join(s.Words, ", ") + "."
	return "", e
}

// A unit's size in the smallest of its family.
type unit struct {
	name string
	size float64
}

var (
	memoryUnits = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	timeUnits   = []unit{{"d", 86_400e6}, {"h", 3_600e6}, {"min", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}
)

const (
	memoryAdvice = `Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".`
	timeAdvice   = `Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`
)

// units are the units that the setting takes, and the size of its own.
func (s *Setting) units() (list []unit, own float64, advice string) {
	if s.Unit == "8kB" {
		return memoryUnits, 8 << 10, memoryAdvice
	}
	for _, u := range memoryUnits {
		if u.name == s.Unit {
			return memoryUnits, u.size, memoryAdvice
		}
	}
	for _, u := range timeUnits {
		if u.name == s.Unit {
			return timeUnits, u.size, timeAdvice
		}
	}
	return nil, 1, ""
}

// A number: C's of base 10, 8 or 16, a fraction, an exponent; then a unit.
var number = regexp.MustCompile(`^\s*([+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))\s*([A-Za-z]*)\s*$`)

var octal = regexp.MustCompile(`^[+-]?0[0-7]+$`)

func (s *Setting) parseNumber(text string) (string, error) {
	m := number.FindStringSubmatch(text)
	if m == nil {
		return "", s.Invalid(text)
	}
	n, err := numeral(m[1])
	if err != nil {
		return "", s.Invalid(text)
	}
	units, own, advice := s.units()
	if m[2] != "" {
		i := slices.IndexFunc(units, func(u unit) bool { return u.name == m[2] })
		if i < 0 {
			e := s.Invalid(text)
			e.HintText = advice
			return "", e
		}
		n *= units[i].size / own
		if i+1 < len(units) { // 30.1GB is a whole number of MB
			n = math.RoundToEven(n*own/units[i+1].size) * units[i+1].size / own
		}
	}
	if s.Kind == Integer {
		n = math.RoundToEven(n)
		if math.Abs(n) > math.MaxInt32 && s.outside(n) {
			e := s.Invalid(text)
			e.HintText = "Value exceeds integer range."
			return "", e
		}
	}
	if s.outside(n) {
		return "", s.tooFar(n)
	}
	return s.format(n), nil
}

func numeral(text string) (float64, error) {
	if octal.MatchString(text) || strings.ContainsAny(text, "xX") {
		n, err := strconv.ParseInt(text, 0, 64)
		return float64(n), err
	}
	return strconv.ParseFloat(text, 64)
}

func (s *Setting) outside(n float64) bool {
	least, _ := strconv.ParseFloat(s.Min, 64)
	most, err := strconv.ParseFloat(s.Max, 64)
	return math.IsNaN(n) || n < least || err == nil && n > most
}

func (s *Setting) tooFar(n float64) error {
	text := fmt.Sprintf("%g", n)
	if s.Kind == Integer {
		text = strconv.FormatInt(int64(n), 10)
	}
	if s.Unit != "" {
		text += " " + s.Unit
	}
	return sqlerror.New("22023", `%s is outside the valid range for parameter "%s" (%s .. %s)`, text, s.Name, s.Min, s.Max)
}

func (s *Setting) format(n float64) string {
	if s.Kind == Integer {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// Show is what SHOW says of a value: in the largest unit in which it is a whole number.
func (s *Setting) Show(value string) string {
	units, own, _ := s.units()
	n, err := strconv.ParseFloat(value, 64)
	if units == nil || err != nil || n <= 0 || s.Kind != Integer && s.Kind != Real {
		return value
	}
	for _, u := range units {
		if whole := n * own / u.size; whole == math.Trunc(whole) {
			return strconv.FormatInt(int64(whole), 10) + u.name
		}
	}
	return value + s.Unit
}
