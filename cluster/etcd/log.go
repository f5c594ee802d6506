package etcd

import (
	"context"
	"log/slog"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quiet says how loud etcd's messages are in our log.
type quiet func(level zapcore.Level, message string) slog.Level

// quietServer: etcd logs every step of a start at Info, and warns of settings that are meant.
func quietServer(level zapcore.Level, message string) slog.Level {
	if meant[message] {
		return slog.LevelDebug
	}
	return slogLevel(level)
}

// meant are warnings at every start about what we chose, and what a member that joins says while it knows nothing yet.
var meant = map[string]bool{
	"Failed to detect schema version":  true,
	"failed to update storage version": true,
	"Running http and grpc server on single port. This is not recommended for production.": true,
	"simple token is not cryptographically signed":                                         true,
}

// quietClient: a call that fails returns its error; the client need not log each try.
func quietClient(level zapcore.Level, _ string) slog.Level {
	if level < zapcore.ErrorLevel {
		return slog.LevelDebug
	}
	return slogLevel(level)
}

func slogLevel(level zapcore.Level) slog.Level {
	switch {
	case level < zapcore.InfoLevel:
		return slog.LevelDebug - 4
	case level < zapcore.WarnLevel:
		return slog.LevelDebug
	case level < zapcore.ErrorLevel:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// zapLogger writes what etcd logs into our log.
func zapLogger(log *slog.Logger, loud quiet) *zap.Logger {
	return zap.New(&logCore{log: log, loud: loud})
}

// logCore is a zapcore.Core. Fields that With adds are kept in log.
type logCore struct {
	log  *slog.Logger
	loud quiet
}

// Enabled implements zapcore.Core: Info and less only if the log takes them.
func (c *logCore) Enabled(level zapcore.Level) bool {
	return c.log.Enabled(context.Background(), slogLevel(level))
}

// With implements zapcore.Core.
func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{log: c.log.With(attributes(fields)...), loud: c.loud}
}

// Check implements zapcore.Core.
func (c *logCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.log.Enabled(context.Background(), c.loud(entry.Level, entry.Message)) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c *logCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.log.Log(context.Background(), c.loud(entry.Level, entry.Message), "etcd: "+entry.Message, attributes(fields)...)
	return nil
}

// Sync implements zapcore.Core. zap calls it before it ends the process over a Fatal.
func (c *logCore) Sync() error {
	_ = os.Stderr.Sync() // where the log most likely goes
	return nil
}

func attributes(fields []zapcore.Field) (all []any) {
	for _, f := range fields {
		encoder := zapcore.NewMapObjectEncoder()
		f.AddTo(encoder)
		for key, value := range encoder.Fields {
			all = append(all, slog.Any(key, value))
		}
	}
	return all
}
