package s3

import (
	"errors"
	"fmt"
	"os"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// credentialsFor returns the credentials in the order of Amazon's own programs:
//
//  1. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN for temporary ones
//  2. the web identity of AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, as Kubernetes sets them
//  3. the profile AWS_PROFILE, default "default", of ~/.aws/config and ~/.aws/credentials
//  4. the IAM role of the container or of the instance
//
// A source that is configured and fails is an error. Only an absent default profile is skipped.
// Temporary credentials are renewed before they expire.
func credentialsFor(region string) (*credentials.Credentials, error) {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	role := &credentials.IAM{Region: region}
	profile := &credentials.FileAWSCredentials{}
	switch name := os.Getenv("AWS_PROFILE"); {
	case (id == "") != (secret == ""):
		return nil, errors.New("set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither " +
			"of them")
	case id != "":
		return credentials.New(&credentials.EnvAWS{}), nil
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return credentials.New(&chain{sources: []source{{"web identity", role}}}), nil
	case name != "":
		return credentials.New(&chain{sources: []source{{fmt.Sprintf("profile %q", name),
			profile}}}), nil
	}
	return credentials.New(&chain{sources: []source{
		{"default profile", profile}, {"IAM role", role}}}), nil
}

// source is a provider of credentials with the name that messages use.
type source struct {
	name     string
	provider credentials.Provider
}

// chain returns the credentials of the first source that has some. The library's own chain drops
// the reasons of failed sources and then sends unsigned requests.
type chain struct {
	sources []source
	current credentials.Provider
}

// RetrieveWithCredContext implements credentials.Provider.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var reasons []error
	for _, s := range c.sources {
		value, err := s.provider.RetrieveWithCredContext(cc)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.current = s.provider
			return value, nil
		}
		if err == nil {
			err = errors.New("no access key")
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", s.name, err))
	}
	return credentials.Value{}, fmt.Errorf("no AWS credentials: %w; set AWS_ACCESS_KEY_ID and "+
		"AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run with an IAM role", errors.Join(reasons...))
}

// Retrieve implements credentials.Provider.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired implements credentials.Provider.
func (c *chain) IsExpired() bool { return c.current == nil || c.current.IsExpired() }
