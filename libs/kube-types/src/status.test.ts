import { describe, expect, it, test } from '@jest/globals'
import { wholeNumberOf } from './meta.ts'
import { statusOf } from './status.ts'

describe('a Status', () => {
  const details = {
    name: 'a',
    group: 'g',
    kind: 'pods',
    uid: 'u',
    causes: [{ reason: 'r', message: 'm', field: 'metadata.uid' }],
    retryAfterSeconds: 3,
  }

  it('`statusOf` reads all fields of a Status', () => {
    const status = { kind: 'Status', code: 422, reason: 'Invalid', message: 'no', details }
    expect(statusOf({ ...status, apiVersion: 'v1', metadata: {} })).toEqual(status)
  })

  it.each([undefined, null, 'Status', [], {}, { kind: 'Pod' }])('`statusOf` returns undefined for %j', (answer) => {
    expect(statusOf(answer)).toBeUndefined()
  })

  it('`statusOf` ignores a field of the wrong type', () => {
    const wrong = { code: '429', reason: 1, message: {}, details: { causes: [null, 'x', { field: 1 }], name: [] } }
    expect(statusOf({ kind: 'Status', ...wrong })).toEqual({ kind: 'Status', details: { causes: [{}] } })
    expect(statusOf({ kind: 'Status', details: [1] })).toEqual({ kind: 'Status' })
  })
})

test.each(['3', '', null, undefined, -1, 1.5, Number.NaN, 1e300, 2 ** 31, true, [3], {}])(
  '`wholeNumberOf` refuses %j, which is not a whole number in its range',
  (value) => {
    expect(wholeNumberOf(value)).toBeUndefined()
    expect(
      statusOf({ kind: 'Status', details: { retryAfterSeconds: value } })?.details?.retryAfterSeconds,
    ).toBeUndefined()
  },
)

test.each([0, 1, 2 ** 31 - 1])('`wholeNumberOf` accepts the whole number %j', (value) => {
  expect(wholeNumberOf(value)).toBe(value)
})
