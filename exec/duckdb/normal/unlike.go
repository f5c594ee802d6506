package normal

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// unlike are types that results show as something else, under their SQL names.
var unlike = map[string]string{"time_tz": "TIME WITH TIME ZONE", "bit": "BIT", "bignum": "BIGNUM", "time_ns": "TIME_NS"}

// Unlike returns for each raw column the SQL name of a type, its own or of something in it, that is not the one which
// the result has in Arrow; empty: it has none. An ENUM is one, also where a scan shows text as one. nil: no column has
// one.
func Unlike(raw *arrow.Schema) []string {
	names, some := make([]string, raw.NumFields()), false
	for i, f := range raw.Fields() {
		names[i] = unlikeIn(f)
		some = some || names[i] != ""
	}
	if !some {
		return nil
	}
	return names
}

func unlikeIn(f arrow.Field) string {
	if f.Type.ID() == arrow.DICTIONARY {
		if enumeration.Of(f) != nil { // which a table can have
			return ""
		}
		return "ENUM"
	}
	if name := unlike[opaqueName(f)]; name != "" {
		return name
	}
	if t, ok := f.Type.(*arrow.Time64Type); ok && t.Unit == arrow.Nanosecond {
		return unlike["time_ns"]
	}
	for _, child := range childFields(f.Type) {
		if name := unlikeIn(child); name != "" {
			return name
		}
	}
	return ""
}
