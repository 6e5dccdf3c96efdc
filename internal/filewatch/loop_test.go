package filewatch

import (
	"io/fs"
	"testing"
	"time"
)

// TestLoop_NeverLooksIfChangesAreIgnored runs a loop whose folder would change at once.
func TestLoop_NeverLooksIfChangesAreIgnored(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	loop := Loop{Interval: Never, Folders: func() map[string]fs.FileInfo {
		t.Error("the loop watches folders")
		return nil
	}, Look: func(time.Time) bool {
		t.Error("the loop looks")
		return false
	}}
	go func() {
		defer close(ended)
		loop.Run(stop)
	}()
	close(stop)
	<-ended
}
