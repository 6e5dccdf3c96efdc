package gateway

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
)

const keysHelp = `Makes, lists and revokes the API keys of the gateway. The file, gateway-keys.yaml by default, has the
keys as hashes; name it in gateway.yaml as access.api_keys. A gateway that runs takes over changes
of the file within seconds.

The owner of a key is the caller key:NAME in policies and records.`

// keysCommand is the group of commands about API keys.
func keysCommand(a *cli.App) *cobra.Command {
	file := "gateway-keys.yaml"
	cmd := &cobra.Command{Use: "keys", Short: "Make, list and revoke API keys of the gateway",
		Long: keysHelp, Example: `  starter gateway keys add ci
  starter gateway keys list
  starter gateway keys revoke ci`}
	cmd.PersistentFlags().StringVar(&file, "file", file, "`file` with the hashes of the keys")
	cmd.AddCommand(addKeyCommand(a, &file), listKeysCommand(a, &file), revokeKeyCommand(a, &file))
	return cmd
}

func addKeyCommand(a *cli.App, file *string) *cobra.Command {
	var scopes []string
	var claims string
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make an API key and print it",
		Long: `Makes an API key, adds its hash to the file, and prints the key. It is printed once and kept
nowhere: give it to the client as "Authorization: Bearer KEY".`,
		Example: `  starter gateway keys add ci
  starter gateway keys add ada --scope operator --claims '{"groups": ["finance"]}' --expires 2160h`,
		Args: cli.Arguments(1, "the name of the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k := access.Key{Name: args[0], Scopes: scopes, Claims: json.RawMessage(claims)}
			if decoded, err := jsonvalue.Decode(k.Claims); claims != "" {
				if _, object := decoded.(map[string]any); err != nil || !object {
					return cli.UsageError(cmd, "--claims %.80q is not a JSON object", claims)
				}
			}
			now := time.Now()
			if expires < 0 {
				return cli.UsageError(cmd, "--expires %s is in the past", expires)
			}
			if expires > 0 {
				k.Expires = now.Add(expires).UTC().Format(time.RFC3339)
			}
			secret, err := access.AddKey(*file, k, now)
			if err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			if a.Format.JSON() {
				return cli.WriteJSON(a.Out, madeKey{k.Name, secret, k.Expires}, false)
			}
			return a.Println(secret)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&scopes, "scope", nil, "`scope` of the key; repeatable")
	f.StringVar(&claims, "claims", "", "claims of the key's owner as a `JSON` object")
	f.DurationVar(&expires, "expires", 0, "`time` after which the key is refused (default never)")
	return cmd
}

func listKeysCommand(a *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the API keys",
		Long:    "Lists the API keys of the file: their names, scopes and times, not the keys.",
		Example: `  starter gateway keys list --file /etc/switchyard/gateway-keys.yaml`,
		Args:    cli.Arguments(0),
		RunE: func(*cobra.Command, []string) error {
			list, err := access.ReadKeys(*file)
			if err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			if a.Format.JSON() {
				return cli.WriteJSONLines(a.Out, toListedKeys(list))
			}
			for _, k := range list {
				if err := a.Println(strings.Join([]string{k.Name, "made " + cmp.Or(k.Created, "-"),
					"expires " + cmp.Or(k.Expires, "never"),
					"scopes " + cmp.Or(strings.Join(k.Scopes, " "), "-")}, "  ")); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// madeKey is the output of a new key.
type madeKey struct {
	Name    string `json:"name"`
	Key     string `json:"key"`
	Expires string `json:"expires,omitempty"`
}

// listedKey is a key as the list shows it: without its hash.
type listedKey struct {
	Name    string          `json:"name"`
	Created string          `json:"created,omitempty"`
	Expires string          `json:"expires,omitempty"`
	Scopes  []string        `json:"scopes,omitempty"`
	Claims  json.RawMessage `json:"claims,omitempty"`
}

func toListedKeys(list []access.Key) []listedKey {
	shown := make([]listedKey, len(list))
	for i, k := range list {
		shown[i] = listedKey{k.Name, k.Created, k.Expires, k.Scopes, k.Claims}
	}
	return shown
}

func revokeKeyCommand(a *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke an API key",
		Long:    "Removes an API key from the file. Gateways that run refuse it within seconds.",
		Example: `  starter gateway keys revoke ci`,
		Args:    cli.Arguments(1, "the name of the key"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := access.RevokeKey(*file, args[0]); err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			return a.Println("the key " + args[0] + " is revoked")
		},
	}
}
