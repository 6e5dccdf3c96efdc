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
		level = "fatal" // the server exits after these levels
	}
	least := zap.NewAtomicLevelAt(log.ParseZapLevel(level))
	built := log.BuildZapLogger(log.Config{Level: level, Format: "console"})
	return &logging{log.NewZapLogger(built.WithOptions(zap.IncreaseLevel(least))), least}
}

// quiet drops warnings and errors from here on: parts of a stopping server report that they cannot
// reach each other, and the exit code shows whether the stop was clean. Lower log levels still show
// all.
func (l *logging) quiet() {
	if l.least.Level() >= zapcore.WarnLevel {
		l.least.SetLevel(zapcore.FatalLevel)
	}
}
