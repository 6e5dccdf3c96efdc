// Package lanerules has the rules of lanes that runs, workers and the audit share: task queues,
// shares of slots, leases, keys and priorities.
package lanerules

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
)

// LeaseInterval returns the time between two heartbeats of a lease in use. It is a small part of
// the timeout, so that most of the lease is left when an outage begins.
func LeaseInterval(timeout time.Duration) time.Duration {
	return min(timeout/3, max(timeout/10, 500*time.Millisecond))
}

// LeaseMargin returns how long before the server's timeout a lease ends for its owner.
func LeaseMargin(timeout time.Duration) time.Duration {
	return min(timeout/5, max(timeout/10, 800*time.Millisecond))
}

// keyWait is how many calls of a key may wait if the lane does not say it.
const keyWait = 1000

// WaitCapacity is how many calls may wait on the worker; on a keyed lane, for each key.
func WaitCapacity(l api.Lane) int {
	switch {
	case l.Strategy == api.StrategyReject:
		return 0
	case l.QueueSize != nil:
		return *l.QueueSize
	case l.HasKey():
		return keyWait
	}
	return 0
}

// KeyQueues is the number of task queues of a keyed lane. Each key has one of them, whatever the
// number of keys and of holders.
const KeyQueues = 16

// TaskQueue returns the task queue of the lane, or of a key on a keyed lane, for workflows on the
// task queue base.
func TaskQueue(l api.Lane, base, key string) string {
	if !l.HasKey() {
		return cmp.Or(l.Queue, queues.Lane(base, l.Name))
	}
	return keyQueue(l, base, keyIndex(KeyPart(key)))
}

// TaskQueues returns the task queues of the lane for workflows on the task queue base: one, or
// KeyQueues on a keyed lane.
func TaskQueues(l api.Lane, base string) []string {
	if !l.HasKey() {
		return []string{TaskQueue(l, base, "")}
	}
	queues := make([]string, KeyQueues)
	for i := range queues {
		queues[i] = keyQueue(l, base, i)
	}
	return queues
}

// GroupQueues returns those of TaskQueues that the nth of several groups serves.
func GroupQueues(l api.Lane, base string, group, groups int) (queues []string) {
	for i, queue := range TaskQueues(l, base) {
		if !l.HasKey() || i%max(groups, 1) == group {
			queues = append(queues, queue)
		}
	}
	return queues
}

func keyQueue(l api.Lane, base string, n int) string {
	return fmt.Sprintf("%s/%d", cmp.Or(l.Queue, queues.Lane(base, l.Name)), n)
}

// keyIndex returns the number of the task queue of the key with that part.
func keyIndex(part string) int {
	h := fnv.New32a()
	h.Write([]byte(part)) // a hash never fails
	return int(h.Sum32() % KeyQueues)
}

// DescribeGroups identifies how the lane is divided: the number of groups, whether by keys, and
// their lease. When it changes, the groups are assigned again.
func DescribeGroups(l api.Lane) string {
	if !l.HasLimit() {
		return "none"
	}
	what := "slots"
	if l.HasKey() {
		what = "keys"
	}
	return fmt.Sprintf("%d of %s, lease %s", l.Holders, what, cmp.Or(l.Lease, api.DefaultLease))
}

// Share returns the slots of the nth of several groups; all shares add up to the limit. On a keyed
// lane every group has the whole limit for each of its keys.
func Share(l api.Lane, group, groups int) int {
	if l.HasKey() || groups <= 1 {
		return l.Limit
	}
	share := l.Limit / groups
	if group < l.Limit%groups {
		share++
	}
	return share
}

const (
	// maxPlainKey is the longest key that is its own part.
	maxPlainKey = 64
	// keyMark is the beginning of the part of any other key. Keys that are used unchanged do not
	// contain it.
	keyMark = "~"
	// keyHint is how much of such a key its part shows.
	keyHint = 24
)

// KeyPart returns what represents a key in the names of lanes: the key if it is short and plain,
// else its beginning and its digest. Different keys have different parts.
func KeyPart(key string) string {
	plain := make([]byte, 0, keyHint)
	odd := key == "" || len(key) > maxPlainKey
	for _, r := range key {
		if api.IsNameRune(r) || r == '.' {
			if len(plain) < keyHint {
				plain = append(plain, byte(r))
			}
			continue
		}
		odd = true
	}
	if !odd {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return keyMark + string(plain) + keyMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// reserved are names of Switchyard's task queues that are not lanes.
var reserved = []string{"bypass", "host_instance", "instance", "slots", "worker"}

// CheckName returns why name is not a valid name of a lane: letters, digits, _ and -, at most
// 64, and no reserved name.
func CheckName(name string) error {
	if api.CheckToolName(name) != nil {
		return fmt.Errorf("%.80q is not a valid lane name: use 1 to %d letters, digits, _ and -",
			name, api.MaxToolName)
	}
	if slices.Contains(reserved, name) {
		return fmt.Errorf("%q is not a valid lane name: Switchyard uses task queues under this name",
			name)
	}
	return nil
}
