package main

import (
	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logging is the server's log on standard error.
type logging struct {
	logger log.Logger
	least  zap.AtomicLevel
}

// newLogging logs from one of logLevels on.
func newLogging(level string) *logging {
	if level == "never" {
		level = "fatal" // on which the server ends the process: always worth a line
	}
	least := zap.NewAtomicLevelAt(log.ParseZapLevel(level))
	built := log.BuildZapLogger(log.Config{Level: level, Format: "console"})
	return &logging{log.NewZapLogger(built.WithOptions(zap.IncreaseLevel(least))), least}
}

// quiet leaves out warnings and errors from here on: while a server ends, its parts complain that
// they cannot reach each other any more, and whether the end was clean is said by the exit code.
// Whoever asked for more still sees all.
func (l *logging) quiet() {
	if l.least.Level() >= zapcore.WarnLevel {
		l.least.SetLevel(zapcore.FatalLevel)
	}
}
