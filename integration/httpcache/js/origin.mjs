// The suite's origin server, on loopback only: the suite's own program listens on
// all addresses.
// node origin.mjs HOME PORT, where HOME/node_modules has the suite.

import http from 'node:http'
import { pathToFileURL } from 'node:url'

const [home, port] = process.argv.slice(2)
const part = async name =>
  (await import(pathToFileURL(`${home}/node_modules/http-cache-tests/server/handle-${name}.mjs`))).default
const handlers = { config: await part('config'), state: await part('state'), test: await part('test') }

http.createServer((request, response) => {
  const [, first, ...rest] = new URL(request.url, 'http://localhost').pathname.split('/')
  if (first in handlers) return handlers[first](rest, request, response)
  response.writeHead(first === '' ? 200 : 404)
  response.end()
}).listen(Number(port), '127.0.0.1')
