package lease

// Logger is the logger of a lease's owner.
type Logger interface {
	Info(message string, keysAndValues ...any)
	Warn(message string, keysAndValues ...any)
}
