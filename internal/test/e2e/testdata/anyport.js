// Has an HTTP server listen on the port PORT in place of the one that it names.
const { Server } = require('http');
const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) { return listen.call(this, Number(process.env.PORT), ...rest); };
