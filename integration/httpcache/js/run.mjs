// The suite's client. node run.mjs HOME URL CHUNK [ID] prints a JSON object: for
// each test its kind, its dependencies, its name and its result.
// CHUNK is the number of tests that run concurrently; with an ID only that test
// runs, and its messages are printed first. The tests of later.mjs are included.

import { pathToFileURL } from 'node:url'
import later from './later.mjs'

const [home, base, chunk, id] = process.argv.slice(2)
const load = path => import(pathToFileURL(`${home}/node_modules/${path}`))
const { runTests, getResults } = await load('http-cache-tests/client/runner.mjs')
const suites = [...(await load('http-cache-tests/tests/index.mjs')).default,
  (await load('http-cache-tests/tests/surrogate-control.mjs')).default, later]
const fetch = (await load('node-fetch/lib/index.mjs')).default

if (id) {
  for (const suite of suites) suite.tests = suite.tests.filter(test => test.id === id)
  for (const suite of suites) for (const test of suite.tests) test.dump = true
}
await runTests(suites, fetch, false, base, Number(chunk))
const results = getResults()
const report = {}
for (const suite of suites) {
  for (const test of suite.tests) {
    if (test.browser_only) continue
    report[test.id] = {
      suite: suite.id,
      name: test.name,
      kind: test.kind ?? 'required',
      depends: test.depends_on ?? [],
      result: results[test.id] === true ? [] : results[test.id] ?? ['untested', '']
    }
  }
}
console.log(JSON.stringify(report))
