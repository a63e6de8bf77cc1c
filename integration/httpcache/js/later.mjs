// Tests, in the form of the suite's, of today's requirements for a shared cache
// that edition 0.4.5 does not test, or tests by an older interpretation.

// twice sends a request and repeats it 3 s later. second is the expected result of
// the repetition, 'cached' or 'not_cached'; more has further settings of it.
const twice = (id, kind, name, response, second, more = {}) => ({
  id: `later-${id}`,
  name,
  kind,
  requests: [
    { response_headers: response, setup: true, pause_after: true, ...more },
    typeof second === 'string' ? { expected_type: second } : second
  ]
})

// Age lines are not compared, because they may have been joined on the way.
const age = (id, expected, lines, lifetime = 3600) => twice(`age-parse-${id}`, 'required',
  `A response with max-age=${lifetime} and Age ${lines.map(l => `"${l}"`).join(' and ')} is ${expected === 'cached' ? 'fresh' : 'stale'}`,
  [['Date', 0], ['Cache-Control', `max-age=${lifetime}`], ...lines.map(l => ['Age', l, false])], expected)

const cdn = (id, kind, expected, value, ...others) => twice(`cdn-${id}`, kind,
  `A response with CDN-Cache-Control: ${value}${others.map(o => ` and ${o[0]}: ${o[1]}`).join('')} is ${expected === 'cached' ? '' : 'not '}reused`,
  [['CDN-Cache-Control', value], ...others], expected)

const forbidden = directive => twice(`stale-close-${directive}`, 'required',
  `A stale response with ${directive} is not sent when the origin closes the connection`,
  [['Cache-Control', `max-age=2, ${directive}`], ['ETag', '"a"']], { disconnect: true, expected_status: 504, check_body: false })

export default {
  name: 'Later than 0.4.5',
  id: 'later',
  tests: [
    age('nonnumeric', 'cached', ['abc']),
    age('negative', 'cached', ['-7200']),
    age('float', 'cached', ['7200.0']),
    age('large-minus-one', 'not_cached', ['2147483647']),
    age('large', 'not_cached', ['2147483648']),
    age('larger', 'not_cached', ['2147483649']),
    age('suffix', 'not_cached', ['7200, 0']),
    age('prefix', 'cached', ['0, 7200']),
    age('suffix-twoline', 'not_cached', ['7200', '0']),
    age('prefix-twoline', 'cached', ['0', '7200']),
    age('dup-0', 'cached', ['0, 0']),
    age('dup-0-twoline', 'cached', ['0', '0']),
    age('dup-old', 'cached', ['3600', '3600'], 10000),

    cdn('max-age', 'optimal', 'cached', 'max-age=3600'),
    cdn('max-age-max', 'optimal', 'cached', 'max-age=2147483648'),
    cdn('max-age-max-plus', 'optimal', 'cached', 'max-age=99999999999'),
    cdn('max-age-age', 'required', 'not_cached', 'max-age=3600', ['Date', 0], ['Age', '7200']),
    cdn('max-age-0', 'required', 'not_cached', 'max-age=0'),
    cdn('max-age-extension', 'optimal', 'cached', 'foobar, max-age=3600'),
    cdn('max-age-expires', 'optimal', 'cached', 'max-age=3600', ['Expires', -7200], ['Date', 0]),
    cdn('max-age-0-expires', 'required', 'not_cached', 'max-age=0', ['Expires', 7200], ['Date', 0]),
    cdn('max-age-invalid-expires', 'optimal', 'cached', 'max-age=3600', ['Cache-Control', 'max-age=1'], ['Expires', '0'], ['Date', 0]),
    cdn('max-age-short-cc-max-age', 'optimal', 'cached', 'max-age=10000', ['Cache-Control', 'max-age=1']),
    cdn('max-age-long-cc-max-age', 'required', 'not_cached', 'max-age=1', ['Cache-Control', 'max-age=3600']),
    cdn('private', 'required', 'not_cached', 'private', ['Cache-Control', 'max-age=3600']),
    cdn('no-cache', 'required', 'not_cached', 'no-cache', ['Cache-Control', 'max-age=3600']),
    cdn('no-store-cc-fresh', 'required', 'not_cached', 'no-store', ['Cache-Control', 'max-age=3600'], ['Expires', 7200], ['Date', 0]),
    cdn('fresh-cc-nostore', 'required', 'cached', 'max-age=10000', ['Cache-Control', 'no-store']),
    cdn('cc-invalid-sh-type-unknown', 'required', 'not_cached', 'max-age=10000, &&&&&', ['Cache-Control', 'no-store']),
    cdn('cc-invalid-sh-type-wrong', 'required', 'not_cached', 'max-age="10000"', ['Cache-Control', 'no-store']),
    cdn('cc-parse-missing', 'required', 'not_cached', 'max-age', ['Cache-Control', 'no-store']),

    forbidden('must-revalidate'),
    forbidden('proxy-revalidate'),
    forbidden('no-cache'),
    forbidden('s-maxage=2'),

    twice('stale-while-revalidate-window', 'required', 'A stale response is not reused after its stale-while-revalidate window',
      [['Cache-Control', 'max-age=1, stale-while-revalidate=1'], ['ETag', '"a"']], 'not_cached'),
    twice('stale-while-revalidate-within', 'optimal', 'A stale response is reused within its stale-while-revalidate window',
      [['Cache-Control', 'max-age=1, stale-while-revalidate=3600'], ['ETag', '"a"']], 'cached'),

    twice('freshness-max-age-stale', 'required', 'A response is not reused after its max-age', [['Cache-Control', 'max-age=2']], 'not_cached'),
    twice('status-200-must-understand', 'optimal', 'A 200 with must-understand is reused in spite of no-store',
      [['Cache-Control', 'max-age=3600, no-store, must-understand']], 'cached'),
    twice('status-599-must-understand', 'required', 'An unknown status is not reused with no-store, must-understand',
      [['Cache-Control', 'max-age=3600, no-store, must-understand']],
      { response_status: [599, 'Whatever'], expected_type: 'not_cached' }, { response_status: [599, 'Whatever'] })
  ]
}
