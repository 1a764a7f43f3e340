import { expect, test } from '@jest/globals'
import { parseTraceparent, traceparentOf } from './span.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test.each([true, false])('`parseTraceparent` reads the output of `traceparentOf`, sampled or not (%p)', (sampled) => {
  expect(parseTraceparent(traceparentOf({ traceId, spanId, sampled }))).toEqual({ traceId, spanId, sampled })
})

test.each([
  ['a traceparent with unknown flags', `00-${traceId}-${spanId}-ff`, true],
  ['a traceparent of a later version', `cc-${traceId}-${spanId}-00`, false],
  ['a traceparent of a later version with more fields', `cc-${traceId}-${spanId}-01-what-the-future-holds`, true],
])('`parseTraceparent` reads %s', (_, text, sampled) => {
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, sampled })
})

test.each([
  '',
  'yes',
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.slice(1)}-${spanId}-01`,
  ` 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01\r\nX: y`,
])('the text %j is not a valid traceparent', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})
