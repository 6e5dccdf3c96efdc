// An OpenID provider on a free port, for the test of the console's login. The argument is the address that people are sent back to.
// It knows one public client, and everybody with any password; ada is of finance, others are of staff.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const { Provider } = createRequire(import.meta.url)('oidc-provider'); // finds packages by NODE_PATH
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'console',
      token_endpoint_auth_method: 'none',
      redirect_uris: [process.argv[2]],
      response_types: ['code'],
      grant_types: ['authorization_code'],
    }],
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false, // the ID token has the claims of the scopes
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: [id === 'ada' ? 'finance' : 'staff'] }),
    }),
  });
  server.on('request', provider.callback());
  console.log(JSON.stringify({ issuer }));
});
