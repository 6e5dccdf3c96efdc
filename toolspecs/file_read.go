package toolspecs

import "github.com/switchyard/switchyard/toolspecs/changes"

// readFile reads a regular file that a user named, but no more than limit and one byte. The error is Faults.
func readFile(path string, limit int) ([]byte, error) {
	data, err := changes.ReadFile(path, limit)
	if err != nil {
		return nil, Faults{{File: path, Message: "cannot be read: " + changes.Reason(err)}}
	}
	return data, nil
}
