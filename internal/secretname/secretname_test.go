package secretname

import (
	"strings"
	"testing"
)

func TestMatches_FindsNamesOfSecrets(t *testing.T) {
	for name := range strings.FieldsSeq(`OPENAI_KEY STRIPE_KEY SUPABASE_SERVICE_ROLE_KEY DB_PASS
		MYSQL_PASS PGPASS PGPASSWORD JWT X-Auth X-Service-Key GITHUB_TOKEN token apiKey APIKEY
		accessToken X-API-Key Cookie Set-Cookie Authorization client_secret db_passwd DB_PWD
		SSH_PASSPHRASE AWS_ACCESS_KEY_ID GITHUB_PAT GOOGLE_CREDENTIALS SLACK_TOKEN_2 KEY KEY2
		API_TOKENS AUTH x-auth-token TOKEN_PROD MYSQLPASS`) {
		if !Matches(name) {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestMatches_LeavesOtherNames(t *testing.T) {
	for name := range strings.FieldsSeq(`MODE PATH PWD OLDPWD AUTHOR KEYBOARD MONKEY BYPASS COMPASS
		max_tokens maxTokens page_token nextPageToken sort_key PUBLIC_KEY TOKEN_URL KEY_FILE AUTH_MODE PASSWORD_LENGTH
		TOKENIZER PATTERN passenger secretary X-Tenant __ Idempotency-Key`) {
		if Matches(name) {
			t.Errorf("%s is found", name)
		}
	}
}
