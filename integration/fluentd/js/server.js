// Runs the FluentServer of @fluent-org/logger on a free port of 127.0.0.1 until
// its standard input ends. The one argument is a JSON object: security and
// tlsOptions as FluentServer has them. The first line of output is the port, each
// further one an event: [tag, seconds, nanoseconds, record].
"use strict";
const { FluentServer, EventTime } = require("@fluent-org/logger");

const { security, tlsOptions } = JSON.parse(process.argv[2]);
const server = new FluentServer({ security, tlsOptions, listenOptions: { port: 0, host: "127.0.0.1" } });

server.on("entry", (tag, time, record) => {
  const [seconds, nanoseconds] = time instanceof EventTime ? [time.epoch, time.nano] : [time, 0];
  console.log(JSON.stringify([tag, seconds, nanoseconds, record]));
});

server.listen().then(() => console.log(server.port));

process.stdin.on("end", () => process.exit());
process.stdin.resume();
