package people

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
)

// maxEvaluationText bounds name and reason, in bytes.
const maxEvaluationText = 2000

// CheckEvaluation returns why the evaluation is invalid; nil if it is valid.
func CheckEvaluation(v api.RunEvaluation) error {
	switch {
	case isBlankIdentity(v.By):
		return fmt.Errorf("an evaluation needs the name of the person who gives it")
	case len(v.By) > maxEvaluationText || len(v.Reason) > maxEvaluationText:
		return fmt.Errorf("name and reason of an evaluation have at most %d bytes each",
			maxEvaluationText)
	}
	return nil
}
